"""The C declarations of wgpu-native: cffi parses them once, then they are stored on disk.

wgpu-py has cffi parse its header whenever it is imported, which took 0.4 s of every start. Names of types took longer
still: pycparser read all 300 declarations before each. In cffi's own format for declarations that were parsed before
("out of line, ABI mode") they are loaded in some milliseconds, and names are looked up in C.
"""

from __future__ import annotations

import hashlib
import io
import marshal
import sys
import tempfile
from contextlib import redirect_stdout, suppress
from pathlib import Path
from types import CodeType

import _cffi_backend
import cffi
from wgpu._coreutils import get_header_filename

from ... import resources
from ...atomic_file import write_file
from ...errors import InputError

BACKEND = "wgpu.backends.wgpu_native"


class _Parsed(_cffi_backend.FFI):
    """Declarations that were parsed before, in the place of a `cffi.FFI` that is told to parse them."""

    def cdef(self, header: str) -> None:
        """They are known."""

    def set_source(self, module_name: str, source: None) -> None:
        """They are parsed."""


def import_backend() -> None:
    """Import wgpu-py's backend with the declarations that are stored; nothing if it was imported before."""
    if BACKEND in sys.modules:
        return
    header = Path(get_header_filename("combined_header.h")).read_text()
    names = {"FFI": _Parsed}
    exec(parsed(header, resources.cache_folder() / "declarations"), names)
    original, cffi.FFI = cffi.FFI, lambda: names["ffi"]
    try:
        __import__(BACKEND)
    finally:
        cffi.FFI = original


def parsed(header: str, folder: Path) -> CodeType:
    """Code that makes of an `FFI` one with the declarations of `header`, `ffi`: from `folder`, or put there."""
    versions = cffi.__version__, sys.implementation.cache_tag or "", sys.platform
    stored = folder / f"{hashlib.sha256('|'.join((*versions, header)).encode()).hexdigest()[:32]}.marshal"
    try:
        return marshal.loads(stored.read_bytes())
    except (OSError, EOFError, ValueError, TypeError):  # there is none, or it is damaged
        code = _parse(header)
    with suppress(InputError):  # they are parsed again next time
        write_file(stored, marshal.dumps(code), make_folder=True)
    return code


def _parse(header: str) -> CodeType:
    ffi = cffi.FFI()
    ffi.cdef(header)
    ffi.set_source("wgpu", None)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "wgpu.py"
        with redirect_stdout(io.StringIO()):  # it prints what it writes
            ffi.emit_python_code(str(file))
        text = file.read_text()
    return compile(text.replace("import _cffi_backend\n", "").replace("_cffi_backend.FFI(", "FFI("), "wgpu.h", "exec")


import_backend()
