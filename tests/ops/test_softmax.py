"""Softmax, its logarithm and hardmax against float64, along any axis of any layout."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from vertigrad import Tensor, ops
from vertigrad.errors import DtypeError, ShapeError
from vertigrad.ops import paths

from .layouts import examples, layouts, seeds, shapes, values

FUNCTIONS = {"softmax": special.softmax, "log_softmax": special.log_softmax}


def hard(x: np.ndarray, axis: int) -> np.ndarray:
    return (np.arange(x.shape[axis]).reshape([-1 if a == axis else 1 for a in range(x.ndim)])) == np.argmax(
        x, axis, keepdims=True
    )


def compare(name: str, got: np.ndarray, a: np.ndarray, axis: int) -> None:
    """To 1e-6, and half an ulp of the difference of x to the largest element."""
    x = a.astype(np.float64)
    rounding = 1e-6 + 2.0**-24 * (x.max(axis, keepdims=True) - x)
    want = FUNCTIONS[name](x, axis)
    error = np.abs(got - want) / (want if name == "softmax" else 1 + np.abs(want))
    assert (error <= rounding).all(), f"{error.max()} at {np.unravel_index(error.argmax(), error.shape)}"


@pytest.mark.parametrize("name", FUNCTIONS)
@examples
@given(st.data(), seeds)
def test_any_axis_of_any_layout(name: str, data: st.DataObject, seed: int) -> None:
    shape = data.draw(shapes(min_rank=1))
    layout, axis = data.draw(layouts(shape)), data.draw(st.integers(-len(shape), len(shape) - 1))
    a, x = layout.both(values(layout.whole, "f32", seed))
    got = getattr(ops, name)(x, axis).numpy()
    assert got.shape == shape
    if got.size:
        compare(name, got, a, axis)


@examples
@given(st.data(), seeds)
def test_hardmax_is_1_at_the_first_of_the_largest(data: st.DataObject, seed: int) -> None:
    shape = tuple(max(n, 1) for n in data.draw(shapes(min_rank=1)))
    layout, axis = data.draw(layouts(shape)), data.draw(st.integers(0, len(shape) - 1))
    a, x = layout.both(np.round(values(layout.whole, "f32", seed)))
    assert np.array_equal(ops.hardmax(x, axis).numpy(), hard(a, axis))


@pytest.mark.parametrize("count", [3, 40, 250, 1024])
def test_subgroups_give_the_same_bits(count: int) -> None:
    if not paths.subgroup_size():
        pytest.skip("no subgroups of one size here")
    x = Tensor.from_numpy(values((37, count), "f32", count))
    for name in FUNCTIONS:
        with paths.forced(subgroups=False):
            expected = getattr(ops, name)(x).numpy()
        with paths.forced(subgroups=True):
            assert np.array_equal(getattr(ops, name)(x).numpy(), expected)


@pytest.mark.parametrize("count", [1, 15, 17, 250, 257, 3000])
@pytest.mark.parametrize("axis", [0, 1])
def test_long_vectors(count: int, axis: int) -> None:
    a = values((count, 21) if axis == 0 else (21, count), "f32", count)
    for name in FUNCTIONS:
        got = getattr(ops, name)(Tensor.from_numpy(a), axis).numpy()
        compare(name, got, a, axis)
    assert np.array_equal(ops.hardmax(Tensor.from_numpy(a), axis).numpy(), hard(a, axis))


@pytest.mark.parametrize("first", [0, 1, 4])
@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_long_vectors_at_any_offset(first: int, dtype: str) -> None:
    """Whole quads are read at once where they are aligned; elsewhere neighbors must not be read or overwritten."""
    a = values((5, 392), "f32", first).astype(np.float16).astype(np.float32)
    x = Tensor.from_numpy(a).to(dtype)
    got = ops.softmax(x[:, first : first + 256]).to("f32").numpy()
    want = special.softmax(a[:, first : first + 256].astype(np.float64), 1)
    assert (np.abs(got - want) <= (5e-4 * want + 6e-8 if dtype == "f16" else 2e-6 * want)).all()
    whole = Tensor.full((5, 392), 7.0)
    ops.softmax(Tensor.from_numpy(a[:, first : first + 256]), out=whole[:, first : first + 256])
    neighbors = np.delete(whole.numpy(), np.s_[first : first + 256], axis=1)
    assert (neighbors == 7.0).all()


@pytest.mark.parametrize("count", [4, 40, 400])
def test_infinities_and_nan(count: int) -> None:
    rows = np.full((5, count), -1.0, np.float32)
    rows[0] = -np.inf
    rows[1, 1:] = -np.inf
    rows[2, 2] = np.inf
    rows[3, 1] = np.nan
    rows[4] = 1e30
    with np.errstate(invalid="ignore"):
        want = np.exp(rows - rows.max(1, keepdims=True))
        want /= want.sum(1, keepdims=True)
    got = ops.softmax(Tensor.from_numpy(rows)).numpy()
    np.testing.assert_allclose(got, want, rtol=1e-6)
    assert np.isnan(got[[0, 2, 3]]).all() and got[1, 0] == 1
    hard_ = ops.hardmax(Tensor.from_numpy(rows)).numpy()
    assert hard_.argmax(1).tolist() == [0, 0, 2, 1, 0] and (hard_.sum(1) == 1).all()


def test_out_can_be_the_operand() -> None:
    a = values((6, 9), "f32", 1)
    x = Tensor.from_numpy(a)
    assert ops.softmax(x, 0, out=x) is x
    np.testing.assert_allclose(x.numpy(), special.softmax(a.astype(np.float64), 0), rtol=2e-6)


def test_invalid_arguments() -> None:
    with pytest.raises(DtypeError, match="cast it first"):
        ops.softmax(Tensor.zeros((2,), "i32"))
    with pytest.raises(ShapeError, match="axis 2"):
        ops.softmax(Tensor.zeros((2, 2)), 2)
    assert ops.softmax(Tensor.zeros((0, 3))).shape == (0, 3)
