"""Arrays in NumPy files, and unreadable files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.models.data import array_file
from vertigrad.models.data.array import Array, Params

RNG = np.random.default_rng(4)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "u1", "i8", "?", ">f4"])
def test_types_become_f32(tmp_path: Path, dtype: str) -> None:
    array = (RNG.uniform(0, 9, (3, 4, 5)) > 4 if dtype == "?" else RNG.uniform(0, 9, (3, 4, 5))).astype(dtype)
    np.save(tmp_path / "a.npy", np.asfortranarray(array))
    found = array_file.read(tmp_path / "a.npy")
    assert found.dtype == np.float32 and found.flags.c_contiguous
    assert np.array_equal(found, array.astype(np.float32))


def test_the_model_outputs_the_array_of_the_file(tmp_path: Path, steady: Gpu) -> None:
    small, large = RNG.normal(size=(2, 3)), RNG.normal(size=(4, 5, 6)).astype(np.float32)
    large[1, 2, 3] = np.nan
    np.savez(tmp_path / "a.npz", small=small, large=large)
    for name, array in (("", large), ("small", small)):
        params = Params(file=tmp_path / "a.npz", name=name)
        model = Array("a", params, {}, 0)
        values = model.outputs()["values"]
        assert values.shape == Array.output_specs(params)["values"].shape == array.shape
        assert np.array_equal(values.numpy(), array.astype(np.float32), equal_nan=True)
        assert all(one.holds for one in model.compare_with_reference())
        numbers = model.diagnostics()
        assert numbers["not_finite"].item() == (0 if name else 1)
        for tensor in numbers.values():
            tensor.close()
        model.close()


def test_unreadable_files_are_rejected(tmp_path: Path) -> None:
    def refused(message: str, file: str, name: str = "") -> None:
        with pytest.raises(InputError, match=message):
            array_file.read(tmp_path / file, name)

    (tmp_path / "text.npy").write_text("hello")
    np.save(tmp_path / "complex.npy", np.zeros(3, complex))
    np.save(tmp_path / "object.npy", np.array([{}, 1], object), allow_pickle=True)
    np.save(tmp_path / "empty.npy", np.zeros((3, 0)))
    np.save(tmp_path / "one.npy", np.ones(3))
    np.savez(tmp_path / "none.npz")
    np.savez(tmp_path / "some.npz", a=np.ones(3), b=np.ones(4))
    refused("cannot be read", "nowhere.npy")
    refused("not a readable NumPy file", "text.npy")
    refused("not a readable NumPy file", "object.npy")
    refused("contains complex128", "complex.npy")
    refused(r"shape \(3, 0\)", "empty.npy")
    refused("omit name", "one.npy", "a")
    refused("contains no array", "none.npz")
    refused("no array 'c'; it has a, b", "some.npz", "c")


def test_indices_stay_integers(tmp_path: Path, steady: Gpu) -> None:
    index = np.array([[0, 1, 2**31], [3, 2**32 - 1, 16_777_217]], np.int64)
    np.savez(tmp_path / "a.npz", index=index)
    params = Params(file=tmp_path / "a.npz", name="index", dtype="u32")
    assert Array.output_specs(params)["values"].dtype == "u32"
    model = Array("a", params, {}, 0)
    assert np.array_equal(model.outputs()["values"].numpy(), index)
    assert all(one.holds for one in model.compare_with_reference())
    for tensor in model.diagnostics().values():
        tensor.close()
    model.close()


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.ones(3), "contains float64; indices"),
        (np.array([-1, 2]), "contains -1 to 2; indices are 0 to 4294967295"),
        (np.array([0, 2**32]), "contains 0 to 4294967296"),
    ],
)
def test_invalid_indices(tmp_path: Path, array: np.ndarray, message: str) -> None:
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(InputError, match=message):
        array_file.read_indices(tmp_path / "a.npy")
