"""Arrays in NumPy's files, and what cannot be read."""

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


def test_the_model_gives_what_lies_in_the_file(tmp_path: Path, steady: Gpu) -> None:
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


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
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
