"""Layouts against NumPy's views: each is applied to an array whose elements are their own addresses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

from vertigrad import Tensor
from vertigrad.errors import ShapeError
from vertigrad.gpu import Gpu
from vertigrad.tensor import shape as shapes
from vertigrad.tensor.shape import Layout

ITEM = 8  # bytes of an address
examples = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
sizes = st.lists(st.sampled_from([1, 2, 3, 4, 0, 6]), max_size=5).map(tuple)


def view(layout: Layout) -> np.ndarray:
    """The addresses, in elements, that the layout selects."""
    low, extent = shapes.byte_range(*layout, ITEM)
    assert low >= 0
    memory = np.arange((low + extent) // ITEM + 1)
    strides = tuple(stride if n > 1 else 0 for n, stride in zip(layout.shape, layout.strides, strict=True))
    return as_strided(memory[layout.offset // ITEM :], layout.shape, strides, writeable=False)


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    """A layout with axes in any order, also with zero and negative strides, at any offset."""
    shape = draw(sizes)
    layout = Layout(shape, shapes.contiguous_strides(shape, ITEM), 0)
    layout = shapes.permute(layout, tuple(draw(st.permutations(range(len(shape))))))
    steps = [draw(st.sampled_from([1, 1, -1, 2, -2])) for _ in shape]
    cut = tuple(slice(None, None, step) for step in steps)
    layout = shapes.index(layout, cut)
    if draw(st.booleans()):
        layout = shapes.expand(Layout((1, *layout.shape), (0, *layout.strides), layout.offset), (3, *layout.shape))
    return layout._replace(offset=layout.offset + ITEM * draw(st.integers(0, 5)))


@st.composite
def keys(draw: st.DrawFn, shape: tuple[int, ...]) -> Any:
    """A basic index for `shape`: integers, slices, None, and perhaps an ellipsis with axes under it."""

    def part(n: int) -> list[Any]:
        index = st.integers(-n, n - 1) if n else st.nothing()
        return [draw(st.one_of(index, st.slices(n))), *draw(st.sampled_from([[], [], [], [None]]))]

    before = draw(st.integers(0, len(shape)))
    after = draw(st.integers(before, len(shape)))
    front = [k for n in shape[:before] for k in part(n)]
    back = [k for n in shape[after:] for k in part(n)]
    hidden = after == len(shape) and draw(st.booleans())  # trailing axes need no ellipsis
    key = (*front, *back) if hidden or before == after else (*front, Ellipsis, *back)
    return key[0] if len(key) == 1 and draw(st.booleans()) else key


@examples
@given(sizes)
def test_contiguous_strides_are_those_of_a_new_array(shape: tuple[int, ...]):
    layout = Layout(shape, shapes.contiguous_strides(shape, ITEM), 0)
    assert np.array_equal(view(layout), np.arange(math.prod(shape)).reshape(shape))
    assert shapes.is_contiguous(shape, layout.strides, ITEM)


@examples
@given(layouts())
def test_contiguous_means_what_numpys_flag_means(layout: Layout):
    assert shapes.is_contiguous(layout.shape, layout.strides, ITEM) == view(layout).flags.c_contiguous


@examples
@given(layouts())
def test_the_byte_range_is_from_the_lowest_to_the_highest_element(layout: Layout):
    low, extent = shapes.byte_range(*layout, ITEM)
    found = view(layout)
    if found.size:
        assert (low, low + extent) == (found.min() * ITEM, (found.max() + 1) * ITEM)
    else:
        assert extent == 0


@examples
@given(st.data(), layouts())
def test_an_index_selects_the_same_elements_as_in_numpy(data: st.DataObject, layout: Layout):
    key = data.draw(keys(layout.shape))
    got, want = view(shapes.index(layout, key)), view(layout)[key]
    assert got.shape == want.shape
    assert np.array_equal(got, want)


@examples
@given(st.data(), layouts())
def test_an_index_of_a_view_stays_inside_of_it(data: st.DataObject, layout: Layout):
    inner = shapes.index(layout, data.draw(keys(layout.shape)))
    if 0 not in inner.shape:
        (low, extent), (first, whole) = shapes.byte_range(*inner, ITEM), shapes.byte_range(*layout, ITEM)
        assert first <= low and low + extent <= first + whole


@examples
@given(st.data(), layouts())
def test_permute_is_transpose(data: st.DataObject, layout: Layout):
    order = data.draw(st.permutations(range(len(layout.shape))))
    signed = tuple(axis - len(order) * data.draw(st.integers(0, 1)) for axis in order)
    assert np.array_equal(view(shapes.permute(layout, signed)), view(layout).transpose(order))


@examples
@given(st.data(), layouts(), sizes)
def test_expand_is_broadcast_to(data: st.DataObject, layout: Layout, more: tuple[int, ...]):
    ones = data.draw(st.lists(st.booleans(), min_size=len(layout.shape), max_size=len(layout.shape)))
    cut = shapes.index(layout, tuple(slice(0, 1) if one else slice(None) for one in ones))
    expected = (*more, *(data.draw(st.integers(0, 4)) if n == 1 else n for n in cut.shape))
    assert np.array_equal(view(shapes.expand(cut, expected)), np.broadcast_to(view(cut), expected))


@examples
@given(st.data(), layouts())
def test_reshape_is_a_view_wherever_numpy_makes_one(data: st.DataObject, layout: Layout):
    found = view(layout)
    shape = data.draw(_factors(found.size, found.shape))
    expected = found.reshape(shape)
    if not found.size or np.shares_memory(found, expected):
        got = shapes.reshape(layout, shape, ITEM)
        assert got.shape == expected.shape
        assert np.array_equal(view(got), expected)
    else:
        with pytest.raises(ShapeError, match="copies"):
            shapes.reshape(layout, shape, ITEM)


@st.composite
def _factors(draw: st.DrawFn, size: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape of `size` elements: axes of `shape` split and joined, ones inserted, perhaps one size as -1."""
    parts: list[int] = []
    for n in shape:
        divisors = [d for d in range(1, n + 1) if n % d == 0]
        if n and draw(st.booleans()):
            first = draw(st.sampled_from(divisors))
            parts += [first, n // first]
        elif parts and draw(st.booleans()):
            parts[-1] *= n
        else:
            parts.append(n)
    if draw(st.booleans()):
        parts.insert(draw(st.integers(0, len(parts))), 1)
    if parts and size and draw(st.booleans()):
        parts[draw(st.integers(0, len(parts) - 1))] = -1
    return tuple(parts)


@examples
@given(st.lists(sizes, max_size=3))
def test_shapes_broadcast_as_in_numpy(several: list[tuple[int, ...]]):
    try:
        want = np.broadcast_shapes(*several)
    except ValueError:
        with pytest.raises(ShapeError, match="do not broadcast"):
            shapes.broadcast_shapes(*several)
    else:
        assert shapes.broadcast_shapes(*several) == want


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ((0, 0, 0), "3 indices for shape"),
        ((..., ...), "only one"),
        (3, "index 3 is outside axis 0 of size 3"),
        ((0, -5), "index -5 is outside axis 1 of size 4"),
        ([0, 1], "vertigrad.ops.take"),
        (1.0, "cannot index with float"),
        (np.array([1]), "cannot index with ndarray"),
        (True, "cannot index with bool"),
    ],
)
def test_an_index_that_selects_nothing_gives_the_reason(key: Any, reason: str):
    with pytest.raises(ShapeError, match=reason):
        shapes.index(Layout((3, 4), (4 * ITEM, ITEM), 0), key)


def test_numpys_integers_are_indices():
    layout = Layout((3, 4), (4 * ITEM, ITEM), 0)
    assert shapes.index(layout, (np.int64(-1), np.uint8(2))) == Layout((), (), 10 * ITEM)
    assert shapes.index(layout, np.array(1)) == Layout((4,), (ITEM,), 4 * ITEM)


@pytest.mark.parametrize(
    ("shape", "reason"),
    [((5, -1), "do not make"), ((-1, -1), "at most one -1"), ((-2, 6), "no other negative"), ((13,), "do not make")],
)
def test_an_invalid_shape_gives_the_reason(shape: tuple[int, ...], reason: str):
    with pytest.raises(ShapeError, match=reason):
        shapes.reshape(Layout((3, 4), (4 * ITEM, ITEM), 0), shape, ITEM)


def test_invalid_axes_and_sizes_give_the_reason():
    layout = Layout((3, 4), (4 * ITEM, ITEM), 0)
    for axes in ((0,), (0, 0), (0, 2), (0, 1, 2)):
        with pytest.raises(ShapeError, match="do not name each of 2 axes"):
            shapes.permute(layout, axes)
    for shape in ((4,), (3, 5), (2, 3, 1)):
        with pytest.raises(ShapeError, match="does not expand"):
            shapes.expand(layout, shape)


def test_sizes_are_given_one_by_one_or_as_one_sequence(steady: Gpu) -> None:
    with Tensor.from_numpy(np.arange(6, dtype=np.float32)) as x:
        for sizes in ((2, 3), ((2, 3),), ([2, 3],), (np.int64(2), 3)):
            matrix = x.reshape(*sizes)
            assert matrix.shape == (2, 3)
        for axes in ((1, 0), ((1, 0),), ([1, 0],)):
            assert np.array_equal(matrix.permute(*axes).numpy(), np.arange(6).reshape(2, 3).T)
        for sizes in ((4, 2, 3), ((4, 2, 3),), ([4, 2, 3],)):
            assert matrix.expand(*sizes).shape == (4, 2, 3)
        for wrong in ((2.0, 3), ("23",), ((2, 3), (1, 1)), (None,)):
            with pytest.raises(ShapeError, match="expected integers, or one sequence of them"):
                x.reshape(*wrong)
