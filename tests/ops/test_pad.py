"""Pad, tile, depth and space, triangles and one-hot vectors against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vertigrad import Tensor, ops
from vertigrad.errors import DtypeError, ShapeError

from .layouts import DTYPES, examples, layouts, seeds, shapes, values


@settings(examples, max_examples=2 * examples.max_examples)
@given(st.data(), st.sampled_from(["constant", "edge", "reflect", "wrap"]), st.sampled_from(DTYPES), seeds)
def test_pad_any_layout(data: st.DataObject, mode: str, dtype: str, seed: int) -> None:
    shape = data.draw(shapes(max_rank=4, largest=300))
    shape = shape if mode == "constant" else tuple(max(n, 1) for n in shape)
    layout = data.draw(layouts(shape))
    a, x = layout.both(values(layout.whole, dtype, seed))
    padding = [data.draw(st.tuples(st.integers(0, 5), st.integers(0, 5))) for _ in shape]
    more = {"constant_values": 1} if mode == "constant" else {}
    want = np.pad(a, padding, mode, **more) if shape else a
    got = ops.pad(x, padding, mode, 1)
    assert got.dtype is x.dtype
    assert np.array_equal(got.numpy(), want)


def test_pad_cuts_where_it_is_negative() -> None:
    a = np.arange(20, dtype=np.float32).reshape(4, 5)
    got = ops.pad(a, [(-1, 2), (1, -3)], value=-1).numpy()
    assert np.array_equal(got, np.pad(a[1:, :2], [(0, 2), (1, 0)], constant_values=-1))
    assert np.array_equal(ops.pad(a, [(-1, 0), (-2, 1)], "edge").numpy(), np.pad(a[1:, 2:], [(0, 0), (0, 1)], "edge"))
    assert (ops.pad(Tensor.zeros((0, 2)), [(1, 1), (0, 0)], value=3).numpy() == 3).all()


def test_invalid_padding() -> None:
    x = Tensor.zeros((2, 3))
    with pytest.raises(ShapeError, match="a pair for each of 2 axes"):
        ops.pad(x, [(1, 1)])
    with pytest.raises(ShapeError, match="the mode is one of"):
        ops.pad(x, 1, "mirror")
    with pytest.raises(ShapeError, match="cuts more"):
        ops.pad(x, -2)
    with pytest.raises(ShapeError, match="no elements"):
        ops.pad(x[:0], 1, "edge")
    with pytest.raises(DtypeError, match="fit u8"):
        ops.pad(x.to("u8"), 1, value=300)


@examples
@given(st.data(), st.sampled_from(DTYPES), seeds)
def test_tile_any_layout(data: st.DataObject, dtype: str, seed: int) -> None:
    layout = data.draw(layouts(data.draw(shapes(largest=300))))
    a, x = layout.both(values(layout.whole, dtype, seed))
    times = tuple(data.draw(st.lists(st.integers(0, 3), max_size=6)))
    assert np.array_equal(ops.tile(x, times).numpy(), np.tile(a, times))


def test_tile_more_axes_than_a_kernel_supports() -> None:
    a = values((2, 3, 2, 3, 2), "f32", 1)
    assert np.array_equal(ops.tile(a, (2, 3, 2, 2, 3)).numpy(), np.tile(a, (2, 3, 2, 2, 3)))
    whole = Tensor.full((4, 9), 7.0)
    ops.tile(np.ones((2, 2), np.float32), (2, 3), out=whole[:, 2:8])
    assert np.array_equal(whole.numpy()[:, 2:8], np.ones((4, 6))) and (whole.numpy()[:, [0, 1, 8]] == 7).all()


@pytest.mark.parametrize("dtype", ["f32", "u8"])
def test_depth_and_space(dtype: str) -> None:
    a = values((2, 12, 3, 5), dtype, 1)
    blocks = a.reshape(2, 2, 2, 3, 3, 5).transpose(0, 3, 4, 1, 5, 2).reshape(2, 3, 6, 10)
    columns = a.reshape(2, 3, 2, 2, 3, 5).transpose(0, 1, 4, 2, 5, 3).reshape(2, 3, 6, 10)
    x = Tensor.from_numpy(a)
    assert np.array_equal(ops.depth_to_space(x, 2).numpy(), blocks)
    assert np.array_equal(ops.depth_to_space(x, 2, channels_first=True).numpy(), columns)
    assert np.array_equal(ops.space_to_depth(Tensor.from_numpy(blocks), 2).numpy(), a)
    with pytest.raises(ShapeError, match="divide into blocks of 4"):
        ops.space_to_depth(x, 4)
    with pytest.raises(ShapeError, match="depth_to_space"):
        ops.depth_to_space(x, 5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [-9, -1, 0, 2, 9])
def test_triangles(dtype: str, k: int) -> None:
    a = values((2, 4, 6), dtype, 1)
    assert np.array_equal(ops.tril(a, k).numpy(), np.tril(a, k))
    assert np.array_equal(ops.triu(Tensor.from_numpy(a).permute(0, 2, 1), k).numpy(), np.triu(a.transpose(0, 2, 1), k))
    with pytest.raises(ShapeError, match="no matrix"):
        ops.tril(a[0, 0])


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
@pytest.mark.parametrize("dtype", ["f32", "i32", "bool"])
def test_one_hot(axis: int, dtype: str) -> None:
    indices = np.array([[0, 3, -1], [-4, 4, -5]], np.int32)
    on, off = (True, False) if dtype == "bool" else (5, 2)
    got = ops.one_hot(indices, 4, axis, on=on, off=off, dtype=dtype)
    chosen = np.where(indices < 0, indices + 4, indices)[..., None] == np.arange(4)
    want = np.moveaxis(np.where(chosen, on, off), -1, axis if axis >= 0 else 3 + axis)
    assert got.dtype.name == dtype and np.array_equal(got.numpy(), want)
    assert np.array_equal(ops.one_hot(indices.astype(np.float32), 4).numpy(), chosen)
