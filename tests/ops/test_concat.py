"""concatenate and stack against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vertigrad import Tensor, ops
from vertigrad.errors import ShapeError

from .layouts import DTYPES, NUMPY, examples, layouts, seeds, shapes, values


@examples
@given(st.data(), st.sampled_from(DTYPES), seeds)
def test_concatenate_any_layouts(data: st.DataObject, dtype: str, seed: int):
    shape = data.draw(shapes(min_rank=1, max_rank=4, largest=400))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    pairs = []
    for _ in range(data.draw(st.integers(1, 4))):
        part = list(shape)
        part[axis] = data.draw(st.integers(0, 5))
        layout = data.draw(layouts(tuple(part)))
        pairs.append(layout.both(values(layout.whole, dtype, seed)))
    flat = data.draw(st.booleans())
    got = ops.concatenate([x for _, x in pairs], None if flat else axis)
    assert got.dtype.name == dtype
    assert np.array_equal(got.numpy(), np.concatenate([a for a, _ in pairs], None if flat else axis))


@examples
@given(st.data(), st.sampled_from(["f32", "u8"]), seeds)
def test_stack_any_layouts(data: st.DataObject, dtype: str, seed: int):
    shape = data.draw(shapes(max_rank=4, largest=400))
    axis = data.draw(st.integers(-len(shape) - 1, len(shape)))
    found = [data.draw(layouts(shape)) for _ in range(data.draw(st.integers(1, 3)))]
    pairs = [layout.both(values(layout.whole, dtype, seed)) for layout in found]
    assert np.array_equal(ops.stack([x for _, x in pairs], axis).numpy(), np.stack([a for a, _ in pairs], axis))


def test_types_are_promoted_to_the_widest():
    parts = [np.array([1, 2], NUMPY[dtype]) for dtype in ("bool", "u8", "i32", "f32")]
    got = ops.concatenate([Tensor.from_numpy(part) for part in parts])
    assert got.dtype.name == "f32"
    assert got.numpy().tolist() == [1, 1, 1, 2, 1, 2, 1, 2]


def test_out_and_arrays():
    a = values((4, 3), "f32", 1)
    x = Tensor.from_numpy(a)
    ops.concatenate([x[2:], x[:2]], out=x)  # reads what it writes: as if read first
    assert np.array_equal(x.numpy(), np.roll(a, 2, 0))
    into = Tensor.zeros((8, 6))
    ops.concatenate([a, a[::-1]], 0, out=into[:, ::2])
    assert np.array_equal(into.numpy()[:, ::2], np.concatenate([a, a[::-1]]))
    assert not into.numpy()[:, 1::2].any()


def test_invalid_operands_are_reported():
    x = Tensor.zeros((2, 3))
    with pytest.raises(ShapeError, match="at least one"):
        ops.concatenate([])
    with pytest.raises(ShapeError, match="at least one"):
        ops.stack([])
    with pytest.raises(ShapeError, match=r"\(2, 3\) and \(3, 3\) do not fit together"):
        ops.concatenate([x, Tensor.zeros((3, 3))], 1)
    with pytest.raises(ShapeError, match="do not fit together"):
        ops.concatenate([x, x[0]], 0)
    with pytest.raises(ShapeError, match=r"shapes differ: \(2, 3\), \(3,\)"):
        ops.stack([x, x[0]])
    with pytest.raises(ShapeError, match="outside of 3 axes"):
        ops.stack([x, x], 3)
