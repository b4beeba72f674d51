"""Elementwise operations over shapes, strides and offsets; test_functions.py tests their values."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vertigrad
from vertigrad import Tensor, ops
from vertigrad.errors import DtypeError, LayoutError, ShapeError

from .layouts import DTYPES, NUMPY, broadcastable, examples, layouts, seeds, shapes, values


@examples
@given(st.data())
def test_add_broadcasts_operands_of_any_layout(data: st.DataObject):
    shape = data.draw(shapes())
    pairs = []
    for seed in range(2):
        layout = data.draw(layouts(data.draw(broadcastable(shape))))
        pairs.append(layout.both(values(layout.whole, "f32", seed)))
    (a, x), (b, y) = pairs
    result = ops.add(x, y)
    assert result.shape == np.broadcast_shapes(a.shape, b.shape)
    assert np.array_equal(result.numpy(), a + b)


@examples
@given(st.data(), st.sampled_from(["bool", "f32", "u8"]), st.sampled_from(["f32", "u8"]))
def test_where_takes_three_layouts(data: st.DataObject, condition: str, dtype: str):
    shape = data.draw(shapes())
    pairs = []
    for seed, kind in enumerate([condition, dtype, dtype]):
        layout = data.draw(layouts(data.draw(broadcastable(shape))))
        pairs.append(layout.both(values(layout.whole, kind, seed)))
    (c, z), (a, x), (b, y) = pairs
    assert np.array_equal(ops.where(z, x, y).numpy(), np.where(c, a, b))


@examples
@given(st.data(), st.sampled_from(DTYPES), seeds)
def test_assign_writes_its_view_and_nothing_else(data: st.DataObject, dtype: str, seed: int):
    shape = data.draw(shapes(max_rank=4))
    target, source = data.draw(layouts(shape)), data.draw(layouts(data.draw(broadcastable(shape))))
    array, new = values(target.whole, dtype, seed), source.array(values(source.whole, dtype, seed + 1))
    with Tensor.from_numpy(array) as whole:
        ops.assign(target.tensor(whole), new)
        target.array(array)[...] = new
        assert np.array_equal(whole.numpy(), array)


@examples
@given(st.data(), seeds)
def test_out_takes_the_result_in_place(data: st.DataObject, seed: int):
    shape = data.draw(shapes(max_rank=4))
    small = data.draw(broadcastable(shape))
    target, source = data.draw(layouts(shape)), data.draw(layouts(small))
    array = values(target.whole, "f32", seed)
    a, x = source.both(values(source.whole, "f32", seed + 1))
    with Tensor.from_numpy(array) as whole:
        view = target.tensor(whole)
        assert ops.multiply(x, 2.0, out=view) is view
        target.array(array)[...] = a * np.float32(2)
        assert np.array_equal(whole.numpy(), array)


@examples
@given(st.data(), st.sampled_from(["f32", "u8", "i32"]), seeds)
def test_a_write_over_its_own_operand_is_as_if_operands_were_read_first(data: st.DataObject, dtype: str, seed: int):
    n = data.draw(st.integers(0, 9))
    first, second = data.draw(layouts((n, 3))), data.draw(layouts((n, 3)))
    sizes = tuple(max(a, b) for a, b in zip(_two_axes(first), _two_axes(second), strict=True))
    array = values((3, *sizes), dtype, seed)
    a, b = first.array(_start(array, first)), second.array(_start(array, second))
    with Tensor.from_numpy(array) as whole:
        first.tensor(_start(whole, first)).add_(second.tensor(_start(whole, second)))
        np.add(a, b, out=a)
        assert np.array_equal(whole.numpy(), array)


def _two_axes(layout):
    return layout.whole[-2:]


def _start(whole, layout):
    """The part of `whole` (three axes) that `layout` was drawn for."""
    corner = whole[:, : layout.whole[-2], : layout.whole[-1]]
    return corner if len(layout.whole) == 3 else corner[0]


def test_sums_of_overlapping_slices_use_the_old_values():
    x = Tensor.from_numpy(np.arange(6, dtype=np.float32))
    x[1:].add_(x[:-1])
    assert x.numpy().tolist() == [0, 1, 3, 5, 7, 9]
    x[::-1].sub_(x)
    assert x.numpy().tolist() == [-9, -6, -2, 2, 6, 9]


def test_writing_a_view_does_not_change_a_clone():
    x = Tensor.from_numpy(np.zeros((2, 3), np.float32))
    copy = x.clone()
    x.T[0].add_(copy[:, 1] + 1.0)
    assert x.numpy().tolist() == [[1, 0, 0], [1, 0, 0]]
    assert not copy.numpy().any()


def test_writing_a_whole_tensor_does_not_change_a_clone():
    x = Tensor.from_numpy(np.arange(300, dtype=np.float32))
    copy = x.clone()
    x.mul_(2.0)
    assert np.array_equal(x.numpy(), 2 * np.arange(300))
    assert np.array_equal(copy.numpy(), np.arange(300))
    copy.fill_(5)
    assert np.array_equal(x.numpy(), 2 * np.arange(300)) and (copy.numpy() == 5).all()


def test_bytes_that_share_a_word_are_written_independently():
    array = np.arange(101, dtype=np.uint8)
    with Tensor.from_numpy(array) as x:
        x[1::2].add_(100)
        x[::-3].mul_(3)
        array[1::2] += 100
        array[::-3] *= 3
        assert np.array_equal(x.numpy(), array)


ONE = {"f32": np.float32(1), "u8": np.uint8(1)}


@pytest.mark.parametrize("dtype", ONE)
def test_more_elements_than_one_row_of_workgroups_takes(dtype: str):
    count = 65535 * 128 + 1000
    array = np.arange(count, dtype=np.uint32).astype(NUMPY[dtype])
    with Tensor.from_numpy(array) as x, ops.add(x[::-1], 1) as y:
        assert np.array_equal(y.numpy(), array[::-1] + ONE[dtype])


def test_scalars_take_the_type_of_the_other_operand():
    x = Tensor.from_numpy(np.array([1, 2], np.int32))
    assert (x + 1).dtype.name == "i32"
    assert (x * 0.5).dtype.name == "f32"
    assert (2 - x).numpy().tolist() == [1, 0]
    assert (x.to("f16") + 1).dtype.name == "f16"
    assert (x.to("u8") + np.int64(3)).numpy().tolist() == [4, 5]
    assert (x > 1).numpy().tolist() == [False, True]
    assert ops.add(2, 3).item() == 5
    assert ops.where(True, x, 7).numpy().tolist() == [1, 2]


@pytest.mark.parametrize("dtype", ["i32", "u32", "u8", "f16", "f32"])
@pytest.mark.parametrize("number", [5, 5.0, True])
def test_arrays_without_axes_are_scalars(dtype: str, number: object):
    x = Tensor.from_numpy(np.array([1, 2], NUMPY[dtype]))
    plain, array = x + number, x + np.array(number)
    assert array.dtype is plain.dtype and np.array_equal(array.numpy(), plain.numpy())
    assert (np.array(number) - x).dtype is plain.dtype
    with pytest.raises(DtypeError, match="complex128"):
        x + np.complex128(1)


ORDER = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]


@pytest.mark.parametrize("name", ORDER)
def test_signed_and_unsigned_integers_are_compared_exactly(name: str):
    signed = np.array([2**24, 2**24 + 1, -1, 0, -(2**31), 2**31 - 1, 7], np.int32)
    unsigned = np.array([2**24, 2**24 + 1, 2**32 - 1, 0, 2**31, 2**31 - 1, 8], np.uint32)
    a, b = np.repeat(signed, len(unsigned)), np.tile(unsigned, len(signed))
    x, y = Tensor.from_numpy(a), Tensor.from_numpy(b)
    function, reference = getattr(ops, name), getattr(np, name)
    assert np.array_equal(function(x, y).numpy(), reference(a.astype(np.int64), b.astype(np.int64)))
    assert np.array_equal(function(y, x).numpy(), reference(b.astype(np.int64), a.astype(np.int64)))
    assert np.array_equal(ops.fused(lambda p, q: function(p, q + 0), x, y).numpy(), function(x, y).numpy())
    assert np.array_equal(function(x, b).numpy(), function(x, y).numpy())


def test_arrays_are_operands_and_do_not_outlive_the_call():
    tracker = vertigrad.gpu().tracker
    x = Tensor.from_numpy(np.arange(3, dtype=np.float32))
    gc.collect()
    tracker.collect()
    blocks, leaks = len(tracker.live), tracker.leak_count
    y = x + np.array([[10], [20]], np.float32)
    assert y.numpy().tolist() == [[10, 11, 12], [20, 21, 22]]
    y.close()
    gc.collect()
    tracker.collect()
    assert (len(tracker.live), tracker.leak_count) == (blocks, leaks)


def test_invalid_operations_are_reported():
    x, n = Tensor.zeros((2, 3)), Tensor.zeros((3,), "i32")
    flags = n == 0
    with pytest.raises(ShapeError, match=r"\(2, 3\) and \(2,\)"):
        ops.add(x, Tensor.zeros((2,)))
    with pytest.raises(ShapeError, match="does not fit out"):
        ops.add(x, 1.0, out=x[0])
    with pytest.raises(LayoutError, match="repeats elements"):
        n.expand(2, 3).add_(1)
    with pytest.raises(DtypeError, match="f32 result is not written to a tensor of i32"):
        n.add_(0.5)
    with pytest.raises(DtypeError, match="subtract is not defined for bool"):
        flags - flags
    with pytest.raises(DtypeError, match="300 does not fit u8"):
        Tensor.zeros((2,), "u8") + 300
    with pytest.raises(DtypeError, match="float64"):
        x + np.zeros(3)
