"""`arange`, `linspace`, `meshgrid`, `roll` and `norm` against NumPy."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vertigrad import Tensor, ops
from vertigrad.errors import DtypeError, ShapeError
from vertigrad.gpu import Gpu, Plan

from .layouts import DTYPES, examples, layouts, seeds, shapes, values

pytestmark = pytest.mark.usefixtures("gpu")


@pytest.mark.parametrize(
    "arguments",
    [(5,), (0,), (-3,), (2, 9), (2, 9, 3), (9, 2, -2), (9, 2), (2, 9, -1), (0, 1, 0.1), (1.5,), (3, 0, -0.7)],
)
def test_arange_equals_numpys(arguments: tuple[Any, ...]) -> None:
    found, expected = ops.arange(*arguments), np.arange(*arguments)
    whole = expected.dtype.kind == "i"
    assert found.dtype.name == ("i32" if whole else "f32") and found.shape == expected.shape
    assert np.array_equal(found.numpy(), expected.astype(found.dtype.numpy)) if whole else True
    assert np.allclose(found.numpy(), expected, rtol=1e-6)


def test_arange_has_the_requested_type() -> None:
    assert ops.arange(5, dtype="f16").dtype.name == "f16" and ops.arange(3, dtype="u8").numpy().tolist() == [0, 1, 2]
    assert ops.arange(2**31, 2**31 + 2, dtype="u32").numpy().tolist() == [2**31, 2**31 + 1]
    for wrong in ({"stop": 2**31 + 1, "start": 2**31}, {"start": -2, "dtype": "u32", "stop": 1}):
        with pytest.raises(DtypeError, match="fit"):
            ops.arange(**wrong)  # type: ignore[arg-type]
    with pytest.raises(DtypeError, match="a type of numbers"):
        ops.arange(2, dtype="bool")
    for start, stop, step in ((0, 1, 0), (0, math.inf, 1), (math.nan, 1, 1), (0, 1, math.inf)):
        with pytest.raises(ShapeError, match="finite numbers are needed"):
            ops.arange(start, stop, step)


def test_arange_does_not_accumulate_rounding_errors() -> None:
    found = ops.arange(0.0, 100_000.0, 0.1).numpy().astype(float)
    assert np.abs(found - 0.1 * np.arange(1_000_000)).max() <= np.spacing(np.float32(1e5))


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize(
    ("start", "stop", "num"), [(0, 1, 50), (-2.5, 7, 8), (3, -3, 7), (1, 2, 1), (1, 2, 0), (4, 4, 3)]
)
def test_linspace_equals_numpys(start: float, stop: float, num: int, endpoint: bool) -> None:
    expected = np.linspace(start, stop, num, endpoint)
    found = ops.linspace(start, stop, num, endpoint)
    assert found.dtype.name == "f32" and np.array_equal(found.numpy(), expected.astype(np.float32))
    whole = ops.linspace(start, stop, num, endpoint, "i32")
    assert np.array_equal(whole.numpy(), np.linspace(start, stop, num, endpoint, dtype=np.int32))
    with pytest.raises(ShapeError, match="-1 numbers"):
        ops.linspace(start, stop, -1)


def test_linspace_of_tensors_goes_along_a_new_axis() -> None:
    a, b = np.float32([[1, 2, 3], [4, 5, 6]]), np.float32([7, -8, 9])
    for start, stop in ((a, b), (b, 2.5), (-1.0, a)):
        expected = np.linspace(start, stop, 6)
        operands = [Tensor.from_numpy(x) if isinstance(x, np.ndarray) else x for x in (start, stop)]
        found = ops.linspace(*operands, 6)
        assert found.shape == expected.shape and np.allclose(found.numpy(), expected, rtol=1e-6, atol=1e-6)
        ends = found.numpy()[[0, -1]]
        assert np.array_equal(ends, np.stack(np.broadcast_arrays(*(np.float32(x) for x in (start, stop)))))
    assert ops.linspace(Tensor.from_numpy(np.float16([1, 2])), 3, 4).dtype.name == "f16"
    with pytest.raises(DtypeError, match="of tensors floats are made, not i32"):
        ops.linspace(Tensor.from_numpy(b), 0.0, 4, dtype="i32")


@examples
@given(st.data(), st.sampled_from(DTYPES), seeds)
def test_roll_any_layout(data: st.DataObject, dtype: str, seed: int) -> None:
    layout = data.draw(layouts(data.draw(shapes(min_rank=1, largest=300))))
    a, x = layout.both(values(layout.whole, dtype, seed))
    shifts = st.integers(-50, 50)
    axes = st.integers(-a.ndim, a.ndim - 1)
    shift, axis = data.draw(
        st.one_of(
            st.tuples(shifts, st.one_of(st.none(), axes)),
            st.lists(st.tuples(shifts, axes), min_size=1, max_size=4).map(
                lambda pairs: (tuple(n for n, _ in pairs), tuple(at for _, at in pairs))
            ),
            st.tuples(shifts, st.lists(axes, min_size=1, max_size=3).map(tuple)),
        )
    )
    found = ops.roll(x, shift, axis)
    assert found.dtype is x.dtype and np.array_equal(found.numpy(), np.roll(a, shift, axis))
    out = Tensor.empty(a.shape, dtype)
    assert ops.roll(x, shift, axis, out=out) is out and np.array_equal(out.numpy(), np.roll(a, shift, axis))
    assert np.array_equal(x.numpy(), a)


def test_roll_into_itself_and_invalid_arguments() -> None:
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    x = Tensor.from_numpy(a)
    ops.roll(x, (1, -1), (0, 1), out=x)
    assert np.array_equal(x.numpy(), np.roll(a, (1, -1), (0, 1)))
    for arguments in (((1, 2, 3), (0, 1)), (1, 2)):
        with pytest.raises(ShapeError):
            ops.roll(x, *arguments)  # type: ignore[arg-type]


ORDERS = (None, 1, 2, 3, 0.5, 0, -1, math.inf, -math.inf)


@pytest.mark.parametrize("dtype", ["f32", "f16", "i32"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("axis", [0, -1, 1])
def test_norm_of_vectors(order: float | None, axis: int, dtype: str) -> None:
    a = np.random.default_rng(3).integers(-9, 9, (4, 5, 3)) * (1 if dtype == "i32" else 0.75)
    a = np.where(a == 0, 1 if order is not None and order < 0 else 0, a)
    x = Tensor.from_numpy(np.ascontiguousarray(a.astype({"f32": "f4", "f16": "f2", "i32": "i4"}[dtype])))
    for keepdims in (False, True):
        found, expected = ops.norm(x, order, axis, keepdims), np.linalg.norm(a, order, axis, keepdims)
        assert found.dtype.name == ("f16" if dtype == "f16" else "f32") and found.shape == expected.shape
        assert np.allclose(found.numpy(), expected, rtol=2e-3 if dtype == "f16" else 2e-5)


@pytest.mark.parametrize("order", [None, "fro", 1, -1, math.inf, -math.inf])
@pytest.mark.parametrize("axis", [(0, 1), (1, 0), (-1, 0), (2, 1)])
def test_norm_of_matrices(order: float | str | None, axis: tuple[int, int]) -> None:
    a = np.random.default_rng(4).normal(size=(4, 5, 3)).astype(np.float32)
    for keepdims in (False, True):
        expected = np.linalg.norm(a, order, axis, keepdims)  # type: ignore[call-overload]
        found = ops.norm(Tensor.from_numpy(a), order, axis, keepdims)
        assert found.shape == expected.shape and np.allclose(found.numpy(), expected, rtol=1e-5)


def test_norm_without_an_axis() -> None:
    a = np.random.default_rng(5).normal(size=(4, 5, 3)).astype(np.float32)
    x, out = Tensor.from_numpy(a), Tensor.empty(())
    assert ops.norm(x).numpy() == pytest.approx(np.linalg.norm(a), rel=1e-6)
    assert ops.norm(x, out=out) is out and out.item() == pytest.approx(np.linalg.norm(a), rel=1e-6)
    assert ops.norm(x[0], 1).item() == pytest.approx(np.linalg.norm(a[0], 1), rel=1e-5)
    assert ops.norm(x[0, 0], 1).item() == pytest.approx(np.linalg.norm(a[0, 0], 1), rel=1e-5)
    assert ops.norm(Tensor.from_numpy(np.float16([300, 400]))).item() == 500.0, "squares do not pass the range of f16"
    for wrong in (
        lambda: ops.norm(x, 1),
        lambda: ops.norm(x[0], 2),
        lambda: ops.norm(x, "fro", 0),
        lambda: ops.norm(x, 3, (0, 1)),
    ):
        with pytest.raises(ShapeError, match="norm: ord"):
            wrong()


def test_a_plan_recomputes_them(gpu: Gpu) -> None:
    x = Tensor.from_numpy(np.arange(6, dtype=np.float32))
    with Plan("ranges") as plan:
        with plan.recording():
            indices = ops.arange(6) + 1
            found = ops.roll(x, 2) * indices + ops.linspace(0, 5, 6)
            size = ops.norm(found)
        for factor in (1.0, 3.0):
            x[...] = factor * np.arange(6, dtype=np.float32)
            plan.replay()
            expected = np.roll(factor * np.arange(6), 2) * np.arange(1, 7) + np.arange(6)
            assert np.allclose(found.numpy(), expected) and size.item() == pytest.approx(np.linalg.norm(expected))


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("sizes", [(3,), (3, 2), (3, 2, 4), (1, 1), (5, 0)])
def test_meshgrid_of_any_number_of_vectors(gpu: Gpu, sizes: tuple[int, ...], indexing: Literal["xy", "ij"]) -> None:
    vectors = [np.arange(size, dtype=np.float32) + 10.0 * number for number, size in enumerate(sizes)]
    for ours, numpys in zip(
        ops.meshgrid(*vectors, indexing=indexing), np.meshgrid(*vectors, indexing=indexing), strict=True
    ):
        np.testing.assert_array_equal(ours.numpy(), numpys)
