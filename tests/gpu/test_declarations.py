"""The declarations of wgpu-native are parsed once."""

from pathlib import Path
from typing import Any

import cffi
import pytest
from wgpu._coreutils import get_header_filename

from vertigrad.gpu.native import declarations
from vertigrad.gpu.native.foreign import ffi

HEADER = "typedef enum { Round = 3, Square = 7 } Shape; typedef struct { double x; Shape shape; } Drop; int wet(Drop);"


def loaded(folder: Path) -> Any:
    names: dict[str, Any] = {"FFI": declarations._Parsed}
    exec(declarations.parsed(HEADER, folder), names)
    return names["ffi"]


def test_a_header_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    first = loaded(tmp_path / "new")
    monkeypatch.setattr(declarations, "_parse", lambda header: pytest.fail("parsed again"))
    for found in (first, loaded(tmp_path / "new")):
        drop = found.new("Drop *", {"shape": 7})
        assert (found.sizeof("Drop"), drop.shape, found.dlopen(None).Round) == (16, 7, 3)


@pytest.mark.parametrize("damaged", [b"", b"\x00", b"not code", b"\xe3\x00\x00"])
def test_damaged_declarations_are_parsed_again(tmp_path: Path, damaged: bytes):
    loaded(tmp_path)
    (stored,) = tmp_path.iterdir()
    whole = stored.read_bytes()
    stored.write_bytes(damaged)
    assert loaded(tmp_path).sizeof("Drop") == 16
    assert stored.read_bytes() == whole


def test_a_folder_that_cannot_be_written_is_no_obstacle(tmp_path: Path):
    (tmp_path / "file").touch()
    assert loaded(tmp_path / "file").sizeof("Drop") == 16


def test_the_backend_has_the_declarations_of_its_header():
    assert isinstance(ffi, declarations._Parsed)
    parsed = cffi.FFI()
    parsed.cdef(Path(get_header_filename("combined_header.h")).read_text())
    assert ffi.list_types() == parsed.list_types()
    for name in ("WGPULimits", "WGPUSurfaceConfiguration", "WGPURenderPipelineDescriptor", "WGPUInstanceExtras"):
        expected = parsed.typeof(name)
        assert (ffi.sizeof(name), ffi.alignof(name)) == (parsed.sizeof(expected), parsed.alignof(expected))
        fields = [(field, ffi.offsetof(name, field)) for field, _ in ffi.typeof(name).fields]
        assert fields == [(field, parsed.offsetof(name, field)) for field, _ in expected.fields]
