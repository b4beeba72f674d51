"""Reductions against NumPy: over shapes, strides and offsets, and every division of the work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vertigrad
from vertigrad import Tensor, ops
from vertigrad.errors import DtypeError, LayoutError, ShapeError
from vertigrad.ops.reduce import finite_range

from .layouts import DTYPES, NUMPY, examples, layouts, seeds, shapes, values

FOLDS = ["sum", "prod", "mean", "min", "max", "any", "all", "argmin", "argmax"]
WIDER = {"u8": "u4", "bool": "u4"}


def reference(name: str, array: np.ndarray, axis: Any, keepdims: bool) -> np.ndarray:
    """NumPy's result, in float64 for sums of floats, in 32 bits for integers."""
    kind = array.dtype.kind
    options: dict[str, Any] = {}
    if name in ("sum", "prod"):
        options["dtype"] = np.float64 if kind == "f" else np.int32 if kind == "i" else np.uint32
    elif name == "mean":
        options["dtype"] = np.float64
    with np.errstate(all="ignore"):
        return np.asarray(getattr(np, name)(array, axis=axis, keepdims=keepdims, **options))


def result_type(name: str, dtype: str) -> str:
    if name in ("any", "all"):
        return "bool"
    if name.startswith("arg"):
        return "i32"
    if name == "mean":
        return dtype if dtype == "f16" else "f32"
    if name in ("sum", "prod") and dtype in ("u8", "bool"):
        return "u32"
    return dtype


def compare(name: str, array: np.ndarray, got: Tensor, dtype: str, axis: Any, keepdims: bool = False) -> None:
    """Exact except for sums and products of floats: n rounding errors of half an ulp each (WGSL) partly cancel out."""
    want = reference(name, array, axis, keepdims)
    assert got.shape == want.shape
    assert got.dtype.name == result_type(name, dtype)
    if name not in ("sum", "mean", "prod") or want.dtype != np.float64:
        assert np.array_equal(got.numpy(), want, equal_nan=want.dtype.kind == "f")
        return
    magnitude = np.abs(want) if name == "prod" else reference(name, np.abs(array), axis, keepdims)
    error = 2.0**-126 + 4 * 2.0**-23 * np.sqrt(array.size / max(want.size, 1) + 16) * magnitude
    if dtype == "f16":  # rounded once more; subnormal results may be flushed to 0
        error += 2.0**-10 * np.abs(want) + 2.0**-14
    wrong = np.abs(got.numpy().astype(np.float64) - want) > error
    assert not wrong.any()
    assert np.array_equal(np.isnan(got.numpy()), np.isnan(want))


@st.composite
def axes(draw: st.DrawFn, rank: int, name: str) -> Any:
    """None, an integer, or (where NumPy supports it) a tuple of axes counted from either end."""
    if not rank or draw(st.integers(0, 3)) == 0:
        return None
    if name.startswith("arg") or draw(st.booleans()):
        return draw(st.integers(-rank, rank - 1))
    chosen = draw(st.lists(st.integers(0, rank - 1), unique=True))
    return tuple(axis - rank * draw(st.integers(0, 1)) for axis in chosen)


@pytest.mark.turns(2)
@pytest.mark.filterwarnings("ignore:Mean of empty slice")
@pytest.mark.parametrize("name", FOLDS)
@examples
@given(data=st.data(), seed=seeds)
def test_any_layout_and_axis(name: str, data: st.DataObject, seed: int):
    dtype = data.draw(st.sampled_from(DTYPES))
    shape = data.draw(shapes())
    layout, axis, keepdims = data.draw(layouts(shape)), data.draw(axes(len(shape), name)), data.draw(st.booleans())
    a, x = layout.both(values(layout.whole, dtype, seed))
    if name == "prod":
        a, x = np.sign(a) if dtype != "bool" else a, ops.sign(x) if dtype != "bool" else x
    try:
        reference(name, a, axis, keepdims)
    except ValueError:
        with pytest.raises(ShapeError):
            getattr(ops, name)(x, axis, keepdims)
        return
    compare(name, a, getattr(ops, name)(x, axis, keepdims), dtype, axis, keepdims)


DIVISIONS = {
    "an invocation for each output": ((500, 9), 1),
    "a workgroup for each output": ((7, 300), 1),
    "columns side by side": ((300, 37), 0),
    "few columns": ((3000, 3), 0),
    "one output in two passes": ((100_003,), 0),
    "columns in two passes": ((20_011, 5), 0),
    "axes apart in two passes": ((300, 2, 301), (0, 2)),
}


@pytest.mark.parametrize("case", DIVISIONS)
@pytest.mark.parametrize("name", FOLDS)
def test_every_division_of_the_work(name: str, case: str):
    shape, axis = DIVISIONS[case]
    if name.startswith("arg") and isinstance(axis, tuple):
        axis = None
    a = values(shape, "f32", 1)
    if name == "prod":
        a = np.exp(np.float32(1e-3) * a)
    if name in ("any", "all"):
        a = np.full(shape, np.float32(name == "all"))
        a.reshape(-1)[a.size // 3] = 0.5 * (name == "any")
    compare(name, a, getattr(ops, name)(Tensor.from_numpy(a), axis), "f32", axis)


@pytest.mark.parametrize("dtype", ["f16", "i32", "u8", "bool"])
@pytest.mark.parametrize("name", ["sum", "mean", "min", "all", "argmax"])
def test_every_type_in_two_passes(name: str, dtype: str):
    a = values((50_000,), dtype, 2)
    compare(name, a, getattr(ops, name)(Tensor.from_numpy(a)), dtype, None)


def test_nan_is_the_smallest_and_the_largest():
    a = np.array([[1, np.nan, -np.inf], [np.inf, 2, 3], [np.nan, 0, np.nan]], np.float32)
    x = Tensor.from_numpy(a)
    for name in ("min", "max", "argmin", "argmax"):
        for axis in (0, 1):
            assert np.array_equal(getattr(ops, name)(x, axis).numpy(), getattr(np, name)(a, axis), equal_nan=True)
    long = np.zeros(40_000, np.float32)
    long[[777, 30_000]] = np.nan
    y = Tensor.from_numpy(long)
    assert np.isnan(ops.min(y).item()) and np.isnan(ops.max(y).item())
    assert ops.argmin(y).item() == ops.argmax(y).item() == 777


@pytest.mark.parametrize("size", [20, 300, 100_000])
def test_the_first_of_equal_elements_is_found(size: int):
    a = np.tile(np.array([3, 1, 1, 4, 4], np.float32), size // 5)
    x = Tensor.from_numpy(a)
    assert (ops.argmin(x).item(), ops.argmax(x).item()) == (1, 3)
    assert (ops.argmin(x[::-1]).item(), ops.argmax(x[::-1]).item()) == (2, 0)


@pytest.mark.parametrize("shape", [(100_003,), (20_011, 5), (513, 129)])
def test_the_same_input_gives_the_same_bits(shape: tuple[int, ...]):
    a = values(shape, "f32", 3)
    first = ops.sum(Tensor.from_numpy(a), 0).numpy()
    for _ in range(3):
        assert ops.sum(Tensor.from_numpy(a), 0).numpy().tobytes() == first.tobytes()


def test_long_sums_stay_accurate():
    """Sequential sums have 16 additions, the trees 10 levels: one running total would stop increasing at 2^24."""
    ones = Tensor.zeros((1,)).add_(1.0).expand(20_000_000)
    assert ops.sum(ones).item() == 20_000_000
    a = np.random.default_rng(4).uniform(0, 1, 1 << 20).astype(np.float32)
    exact = np.sum(a, dtype=np.float64)
    assert abs(ops.sum(Tensor.from_numpy(a)).item() - exact) <= 8 * 2.0**-23 * exact


def test_f16_is_summed_in_f32():
    x = Tensor.from_numpy(np.full(9000, 1.0, np.float16))
    assert ops.sum(x).item() == 9000
    assert ops.mean(x).item() == 1
    assert ops.mean(Tensor.from_numpy(np.full(9000, 100.0, np.float16))).item() == 100


def test_integers_wrap_at_32_bits_and_small_ones_are_widened():
    assert ops.sum(Tensor.from_numpy(np.full(3, 2**31 - 1, np.int32))).item() == 2**31 - 3
    assert ops.prod(Tensor.from_numpy(np.full(33, 2, np.uint32))).item() == 0
    assert ops.sum(Tensor.from_numpy(np.full(70_000, 255, np.uint8))).item() == 255 * 70_000
    assert ops.sum(Tensor.from_numpy(np.full(70_000, True))).item() == 70_000


def test_reductions_of_empty_tensors():
    x = Tensor.zeros((0, 3))
    assert ops.sum(x, 0).numpy().tolist() == [0, 0, 0]
    assert ops.prod(x).item() == 1
    assert np.isnan(ops.mean(x, 0).numpy()).all()
    assert (ops.any(x).item(), ops.all(x).item()) == (False, True)
    assert ops.max(x, 1).shape == (0,)
    for name in ("min", "max", "argmin", "argmax"):
        with pytest.raises(ShapeError, match=f"{name} of no elements"):
            getattr(ops, name)(x, 0)


def test_a_strided_input_is_read_in_place_by_one_dispatch():
    recorder, meter = vertigrad.gpu().recorder, vertigrad.gpu().meter
    whole = values((40, 6, 50), "f32", 5)
    x = Tensor.from_numpy(whole)[::-2, 1:4].permute(2, 0, 1)
    before, copied = recorder.dispatches, meter.read()["geometry"]["device_to_device"]
    result = ops.sum(x, (0, 2))
    assert recorder.dispatches == before + 1
    assert meter.read()["geometry"]["device_to_device"] == copied
    np.testing.assert_allclose(result.numpy(), whole[::-2, 1:4].transpose(2, 0, 1).sum((0, 2)), rtol=1e-4, atol=1e-4)


def test_out():
    a = values((6, 40), "f32", 6)
    x = Tensor.from_numpy(a)
    into = Tensor.zeros((6, 8))
    column = into[:, 3]
    assert ops.max(x, 1, out=column) is column
    assert np.array_equal(into.numpy()[:, 3], a.max(1)) and not np.delete(into.numpy(), 3, 1).any()
    ops.sum(x, 1, True, out=x[:, 2:3])  # reads what it writes: as if read first
    compare("sum", a, x[:, 2:3], "f32", 1, True)
    with pytest.raises(ShapeError, match=r"\(6,\) is not written to a tensor of shape \(7,\)"):
        ops.sum(x, 1, out=Tensor.zeros((7,)))
    with pytest.raises(DtypeError, match="bool is not written to a tensor of f32"):
        ops.any(x, 1, out=Tensor.zeros((6,)))
    with pytest.raises(LayoutError, match="repeats elements"):
        ops.sum(x, 1, out=Tensor.zeros((1,)).expand(6))


def test_axes_that_do_not_exist():
    x = Tensor.zeros((2, 3))
    for axis in (2, -3, (0, 5)):
        with pytest.raises(ShapeError, match="outside of 2 axes"):
            ops.sum(x, axis)
    with pytest.raises(ShapeError, match="names an axis twice"):
        ops.sum(x, (0, -2))


def test_methods_and_arrays():
    a = values((3, 4), "f32", 7)
    x = Tensor.from_numpy(a)
    for name in ("sum", "mean", "min", "max"):
        np.testing.assert_allclose(getattr(x, name)(1).numpy(), getattr(a, name)(1), rtol=1e-5)
    assert ops.sum(a[:, ::-1]).item() == pytest.approx(float(a.sum()), rel=1e-5)


@pytest.mark.parametrize("dtype", NUMPY)
def test_numpy_names_the_same_type_for_indices_and_bools(dtype: str):
    x = Tensor.from_numpy(values((5,), dtype, 8))
    assert {ops.argmin(x).dtype.name, ops.any(x).dtype.name} == {"i32", "bool"}


@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize(("shape", "axis"), [((5, 70), 1), ((70, 5), 0), ((2, 9, 40_000), 2), ((3, 4, 5), (1, 2))])
def test_a_range_of_finite_values(gpu, dtype: str, shape: tuple[int, ...], axis: Any) -> None:
    rng = np.random.default_rng(4)
    array = rng.normal(size=shape).astype(NUMPY[dtype])
    array[rng.random(shape) < 0.3] = np.nan
    array[rng.random(shape) < 0.3] = np.inf
    array[rng.random(shape) < 0.2] = -np.inf
    array[0] = np.nan if axis == 1 else array[0]  # a row without any
    finite = np.isfinite(array)
    with Tensor.from_numpy(array) as tensor:
        low, high = finite_range(tensor, axis, keepdims=True)
        expected = np.where(finite, array, np.inf).min(axis, keepdims=True)
        np.testing.assert_array_equal(low.numpy(), expected)
        expected = np.where(finite, array, -np.inf).max(axis, keepdims=True)
        np.testing.assert_array_equal(high.numpy(), expected)
