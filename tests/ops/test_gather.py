"""take and take_along_axis against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vertigrad import Tensor, ops
from vertigrad.errors import DtypeError, ShapeError

from .layouts import DTYPES, NUMPY, examples, layouts, seeds, shapes, values


def indices(shape: tuple[int, ...], size: int, dtype: str, seed: int) -> np.ndarray:
    """Random indices into an axis of `size`, of a signed type also from its end."""
    low = -size if dtype == "i32" else 0
    return np.array(np.random.default_rng(seed).integers(low, size, shape), NUMPY[dtype])


@examples
@given(st.data(), st.sampled_from(DTYPES), st.sampled_from(["i32", "u32", "u8"]), seeds)
def test_take_from_any_layout(data: st.DataObject, dtype: str, index: str, seed: int):
    shape = data.draw(shapes(min_rank=1, max_rank=4, largest=500))
    axis = data.draw(st.one_of(st.none(), st.integers(-len(shape), len(shape) - 1)))
    layout = data.draw(layouts(shape))
    a, x = layout.both(values(layout.whole, dtype, seed))
    size = min(a.size if axis is None else shape[axis], 256 if index == "u8" else a.size)
    expected = data.draw(shapes(max_rank=3, largest=60)) if size else (0,)
    where = data.draw(layouts(expected))
    i, y = where.both(indices(where.whole, max(size, 1), index, seed))
    got = ops.take(x, y, axis)
    assert got.dtype.name == dtype
    assert np.array_equal(got.numpy(), np.take(a, i.astype(np.int64), axis))


@examples
@given(st.data(), st.sampled_from(["f32", "u8"]), seeds)
def test_take_along_axis_of_any_layout(data: st.DataObject, dtype: str, seed: int):
    shape = data.draw(shapes(min_rank=1, max_rank=4, largest=500))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    layout = data.draw(layouts(shape))
    a, x = layout.both(values(layout.whole, dtype, seed))
    count = data.draw(st.integers(0, 5)) if shape[axis] else 0
    rows = [data.draw(st.sampled_from([n, 1])) for n in shape]
    rows[axis] = count
    where = data.draw(layouts(tuple(rows)))
    i, y = where.both(indices(where.whole, max(shape[axis], 1), "i32", seed))
    assert np.array_equal(ops.take_along_axis(x, y, axis).numpy(), np.take_along_axis(a, i, axis))


@pytest.mark.parametrize("dtype", DTYPES)
def test_indices_out_of_range(dtype: str):
    a = np.ones((3, 2), NUMPY[dtype])
    got = ops.take(Tensor.from_numpy(a), Tensor.from_numpy(np.array([2, 3, -3, -4, 2**31 - 1], np.int32)), 0).numpy()
    missing = np.nan if dtype in ("f32", "f16") else 0
    want = np.array([1, missing, 1, missing, missing], NUMPY[dtype])[:, None].repeat(2, 1)
    assert np.array_equal(got, want, equal_nan=dtype in ("f32", "f16"))


def test_large_unsigned_indices_do_not_count_from_the_end():
    x = Tensor.from_numpy(np.ones(3, np.int32))
    assert ops.take(x, Tensor.from_numpy(np.array([0, 2**32 - 1], np.uint32))).numpy().tolist() == [1, 0]


def test_lists_and_scalars_are_indices_and_are_checked():
    a = values((4, 5), "f32", 1)
    x = Tensor.from_numpy(a)
    assert np.array_equal(ops.take(x, [[0, -1], [2, 2]], 0).numpy(), np.take(a, [[0, -1], [2, 2]], 0))
    assert np.array_equal(ops.take(x, 3, 1).numpy(), a[:, 3])
    assert ops.take(x, -1).item() == a[-1, -1]
    assert ops.take(x, [], 0).shape == (0, 5)
    with pytest.raises(ShapeError, match="from -5 to 1 reach outside of an axis of size 4"):
        ops.take(x, [1, -5], 0)
    with pytest.raises(DtypeError, match="must be integers, not float64"):
        ops.take(x, [0.5], 0)
    with pytest.raises(DtypeError, match="must be integers, not f32"):
        ops.take(x, x, 0)
    with pytest.raises(ShapeError, match="outside of 2 axes"):
        ops.take(x, [0], 2)
    with pytest.raises(ShapeError, match="1 axes of indices for 2"):
        ops.take_along_axis(x, [0], 0)


def test_empty_sources():
    empty, one = Tensor.zeros((0, 2)), Tensor.zeros((1,), "i32")
    assert ops.take(empty, [], 0).shape == (0, 2)
    with pytest.raises(ShapeError, match="none along axis 0"):
        ops.take(empty, one, 0)


def test_out():
    a = values((6, 4), "f32", 2)
    x = Tensor.from_numpy(a)
    into = Tensor.zeros((4, 5))
    ops.take(x, [5, 0, 3], 0, out=into[:, ::2].T)
    assert np.array_equal(into.numpy()[:, ::2], a[[5, 0, 3]].T)
    assert not into.numpy()[:, 1::2].any()
    ops.take(x, [5, 4, 3, 2, 1, 0], 0, out=x)  # reads what it writes: as if read first
    assert np.array_equal(x.numpy(), a[::-1])
