"""The largest magnitude of each unit so far, against NumPy: any layout, one workgroup and several."""

from __future__ import annotations

import numpy as np
import pytest

import vertigrad
from vertigrad import Tensor
from vertigrad.errors import DtypeError, ShapeError
from vertigrad.ops.unit_peaks import CHUNK, unit_peaks

RNG = np.random.default_rng(2)


@pytest.mark.parametrize(
    ("shape", "axis"), [((5,), 0), ((2, 3, 4, 5), 1), ((7, 6), -1), ((3, CHUNK + 2), 0), ((2, 2 * CHUNK, 2), 2)]
)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_peaks_only_increase_and_take_one_dispatch(shape: tuple[int, ...], axis: int, dtype: str) -> None:
    arrays = [RNG.normal(size=shape).astype(dtype) for _ in range(2)]
    others = tuple(at for at in range(len(shape)) if at != axis % len(shape))
    expected = np.maximum(*(np.abs(a).max(others) for a in arrays))
    with Tensor.zeros(shape[axis], "u32") as out:
        for array in arrays:
            before = vertigrad.gpu().recorder.dispatches
            unit_peaks(Tensor.from_numpy(array), axis, out)
            assert vertigrad.gpu().recorder.dispatches - before == 1
        np.testing.assert_array_equal(out.numpy().view(np.float32), expected)


def test_a_view_and_values_that_are_not_finite_or_subnormal() -> None:
    array = np.zeros((4, 6), np.float32)
    array[0, 1], array[1, 2], array[2, 3], array[3, 0] = -np.inf, np.nan, 1e-42, 1.0
    with Tensor.zeros(5, "u32") as out, Tensor.from_numpy(array) as a:
        unit_peaks(a[::-1, 1:], 1, out)
        found = out.numpy().view(np.float32)
    assert found[0] == np.inf and np.isnan(found[1]) and found[2] > 0 and not found[3:].any()


def test_what_is_refused() -> None:
    with Tensor.zeros(3, "u32") as out, Tensor.zeros((2, 3), "i32") as integers, Tensor.zeros((2, 4)) as floats:
        with pytest.raises(DtypeError):
            unit_peaks(integers, 1, out)
        with pytest.raises(ShapeError):
            unit_peaks(floats, 1, out)
