"""Weights come by name from files that are mapped; what does not fit is listed, and nothing is changed then."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from vertigrad import Tensor
from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.tensor.weights import read_arrays, read_weights, swap_weights

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
def test_weights_are_what_was_written(steady: Gpu, tmp_path: Path, kind: str) -> None:
    found = read_weights(written(tmp_path, kind, arrays()), SHAPES)
    for name, array in arrays().items():
        np.testing.assert_array_equal(found[name].numpy(), array)
        found[name].close()


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"])
def test_every_type_of_safetensors_is_read(tmp_path: Path, dtype: str) -> None:
    values = {"a": np.arange(6).reshape(2, 3).astype(dtype), "empty": np.empty((0, 4), dtype)}
    for name, array in read_arrays(written(tmp_path, "safetensors", values)).items():
        np.testing.assert_array_equal(array, values[name])
        assert array.dtype == dtype


def test_bytes_are_borrowed_from_the_mapped_file(steady: Gpu, tmp_path: Path) -> None:
    path = written(tmp_path, "safetensors", arrays())
    found = read_weights(path, SHAPES)
    assert all(tensor.block.borrow is not None for tensor in found.values())
    assert all(tensor.block.storage is None for tensor in found.values()), "nothing is uploaded before it is used"
    for tensor in found.values():
        tensor.close()


def test_weights_are_cast_if_asked(steady: Gpu, tmp_path: Path) -> None:
    path = written(tmp_path, "npz", {"a": np.arange(3.0)})
    with pytest.raises(InputError, match=r"a: .*float32"):
        read_weights(path, {"a": (3,)})
    (found,) = read_weights(path, {"a": (3,)}, "f32").values()
    np.testing.assert_array_equal(found.numpy(), [0, 1, 2])
    found.close()


def test_all_that_does_not_fit_is_listed(steady: Gpu, tmp_path: Path) -> None:
    expected = {"first.weight": (3, 4), "first.bias": (4,), "second": (1,)}
    with pytest.raises(InputError) as caught:
        read_weights(written(tmp_path, "safetensors", arrays()), expected)
    for part in ("missing: second", "unexpected: scale", "first.weight: expected shape (3, 4), got (4, 3)"):
        assert part in str(caught.value)


def test_weights_are_swapped_while_they_are_in_use(steady: Gpu, tmp_path: Path) -> None:
    held = {name: Tensor.from_numpy(array, name) for name, array in arrays().items()}
    view, kept = held["first.weight"][1], held["first.weight"].clone()
    swap_weights(written(tmp_path, "safetensors", arrays(1)), held)
    np.testing.assert_array_equal(view.numpy(), arrays(1)["first.weight"][1])
    np.testing.assert_array_equal(kept.numpy(), arrays()["first.weight"])
    for tensor in (*held.values(), view, kept):
        tensor.close()


def test_weights_that_do_not_fit_change_nothing(steady: Gpu, tmp_path: Path) -> None:
    held = {name: Tensor.from_numpy(array, name) for name, array in arrays().items()}
    with pytest.raises(InputError):
        swap_weights(written(tmp_path, "npz", {**arrays(1), "scale": np.zeros(2, np.float32)}), held)
    for name, tensor in held.items():
        np.testing.assert_array_equal(tensor.numpy(), arrays()[name])
        tensor.close()


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
def test_headers_that_mean_harm_are_refused(tmp_path: Path, header: bytes) -> None:
    path = tmp_path / "bad.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
    with pytest.raises(InputError, match=r"bad\.safetensors"):
        read_arrays(path)


def test_there_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_arrays(tmp_path / "none.safetensors")
