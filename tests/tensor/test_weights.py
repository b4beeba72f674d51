"""Weights are loaded by name from mapped files; mismatches are listed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from vertigrad import Tensor
from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.tensor.weights import read_arrays, require_fitting

SHAPES = {"first.weight": (4, 3), "first.bias": (4,), "scale": ()}


def arrays(seed: int = 0) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    return {name: np.asarray(random.standard_normal(shape), np.float32) for name, shape in SHAPES.items()}


def written(folder: Path, kind: str, values: dict[str, np.ndarray]) -> Path:
    path = folder / f"weights.{kind}"
    if kind == "npz":
        np.savez(path, **values)  # type: ignore[arg-type]
    else:
        save_file(values, path, {"made": "for a test"})
    return path


@pytest.mark.parametrize("kind", ["npz", "safetensors"])
def test_loaded_weights_equal_the_written_ones(tmp_path: Path, kind: str) -> None:
    found = read_arrays(written(tmp_path, kind, arrays()))
    require_fitting(tmp_path, found, SHAPES)
    for name, array in arrays().items():
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"])
def test_every_type_of_safetensors_is_read(tmp_path: Path, dtype: str) -> None:
    values = {"a": np.arange(6).reshape(2, 3).astype(dtype), "empty": np.empty((0, 4), dtype)}
    for name, array in read_arrays(written(tmp_path, "safetensors", values)).items():
        np.testing.assert_array_equal(array, values[name])
        assert array.dtype == dtype


def test_bytes_are_mapped_from_the_file(steady: Gpu, tmp_path: Path) -> None:
    array = read_arrays(written(tmp_path, "safetensors", arrays()))["first.weight"]
    assert isinstance(array, np.memmap)
    with Tensor.from_blob(array) as tensor:
        np.testing.assert_array_equal(tensor.numpy(), arrays()["first.weight"])


def test_all_mismatches_are_listed(tmp_path: Path) -> None:
    expected = {"first.weight": (3, 4), "first.bias": (4,), "second": (1,)}
    with pytest.raises(InputError) as caught:
        require_fitting(tmp_path, arrays(), expected)
    for part in ("missing: second", "unexpected: scale", "first.weight: expected shape (3, 4), got (4, 3)"):
        assert part in str(caught.value)


@pytest.mark.parametrize("kind", ["npz", "safetensors"])
def test_damaged_files_are_refused(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path, kind, arrays())
    whole = path.read_bytes()
    for share in (0.0, 0.01, 0.2, 0.5, 0.9, 0.99):
        path.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(InputError, match="weights"):
            read_arrays(path)
    if kind == "safetensors":
        path.write_bytes(whole[:-1])
        with pytest.raises(InputError, match="does not fit the bytes that it is given"):
            read_arrays(path)
    random = np.random.default_rng(3)
    for _ in range(200):
        damaged = bytearray(whole)
        damaged[random.integers(len(whole))] = random.integers(256)
        path.write_bytes(damaged)
        try:
            read_arrays(path)
        except InputError as error:
            assert "weights" in str(error)


@pytest.mark.parametrize(
    "header",
    [
        b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,999]}}',
        b'{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}}',
        b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}}',
        b'{"a":{"dtype":"F32","shape":[0],"data_offsets":[9,9]}}',
        b'{"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}}',
        b'{"a":{"dtype":"F32","shape":[1099511627776,1099511627776],"data_offsets":[0,8]}}',
        b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}}',
        b'{"a":{"dtype":"F99","shape":[2],"data_offsets":[0,8]}}',
        b'{"a":{"dtype":"F32"}}',
        b'{"a":3}',
        b"[]",
        b"{",
    ],
)
def test_malicious_headers_are_rejected(tmp_path: Path, header: bytes) -> None:
    path = tmp_path / "bad.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
    with pytest.raises(InputError, match=r"bad\.safetensors"):
        read_arrays(path)


def test_a_header_is_as_long_as_the_format_allows(tmp_path: Path) -> None:
    """100 MiB; the file is sparse."""
    path = tmp_path / "long.safetensors"
    for length, message in ((100 << 20, "header"), ((100 << 20) + 1, "longer than")):
        with path.open("wb") as file:
            file.write(length.to_bytes(8, "little"))
            file.truncate(length + 8)
        with pytest.raises(InputError) as raised:
            read_arrays(path)
        assert ("longer than" in str(raised.value)) == (message == "longer than")


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_arrays(tmp_path / "none.safetensors")
