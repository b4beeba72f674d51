"""Pooling against a float64 reference, over shapes, windows and layouts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vertigrad import Tensor, ops
from vertigrad.errors import DtypeError, ShapeError
from vertigrad.gpu import Gpu

from ..old_names import warned
from . import references
from .layouts import examples, layouts, seeds, values


@st.composite
def cases(draw: st.DrawFn, rank: int) -> tuple[tuple[int, ...], dict]:
    size = tuple(draw(st.lists(st.integers(1, 4), min_size=rank, max_size=rank)))
    dilation = tuple(draw(st.lists(st.sampled_from([1, 1, 2]), min_size=rank, max_size=rank)))
    stride = tuple(draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank)))
    pads = tuple(draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=rank, max_size=rank)))
    largest = {1: 40, 2: 10, 3: 6}[rank]
    shape = (draw(st.integers(1, 2)), draw(st.integers(1, 3)), *(draw(st.integers(1, largest)) for _ in range(rank)))
    return shape, {"size": size, "stride": stride, "pads": pads, "dilation": dilation, "ceil": draw(st.booleans())}


def ours(case: dict) -> dict:
    given = {"padding" if name == "pads" else name: value for name, value in case.items()}
    return {"kernel_size": given.pop("size"), "ceil_mode": given.pop("ceil"), **given}


@pytest.mark.turns(2)
@pytest.mark.parametrize("rank", [1, 2, 3])
@examples
@given(st.data(), seeds)
def test_any_window_over_any_layout(rank: int, data: st.DataObject, seed: int) -> None:
    shape, case = data.draw(cases(rank))
    layout = data.draw(layouts(shape))
    a, x = layout.both(values(layout.whole, "f32", seed))
    wide, taps = a.astype(np.float64), tuple(range(2 + rank, 2 + 2 * rank))
    there = references.windows(np.ones_like(wide), **case).sum(taps)
    pads = case["pads"]
    ones = np.pad(np.ones_like(wide), [(0, 0), (0, 0), *pads], constant_values=1)
    padded_there = references.windows(ones, **{**case, "pads": [(0, 0)] * rank}).sum(taps)
    sums = references.windows(wide, **case).sum(taps)
    got = ops.max_pool(x, **ours(case)).numpy()
    assert np.array_equal(got, references.windows(wide, **case, fill=-np.inf).max(taps, initial=-np.inf))
    got = ops.average_pool(x, **ours(case)).numpy()
    np.testing.assert_allclose(got, sums / np.maximum(there, 1), rtol=1e-5, atol=1e-5)
    if padded_there.shape == sums.shape:
        got = ops.average_pool(x, **ours(case), count_include_pad=True).numpy()
        np.testing.assert_allclose(got, sums / np.maximum(padded_there, 1), rtol=1e-5, atol=1e-5)
    for p in (1, 2, 3):
        want = (references.windows(np.abs(wide) ** p, **case).sum(taps)) ** (1 / p)
        np.testing.assert_allclose(ops.lp_pool(x, p=p, **ours(case)).numpy(), want, rtol=1e-5, atol=1e-6)


@examples
@given(st.data(), seeds, st.booleans())
def test_indices_are_those_of_the_first_largest_elements(data: st.DataObject, seed: int, column_major: bool) -> None:
    shape, case = data.draw(cases(2))
    a = np.round(values(shape, "f32", seed))
    got, indices = ops.max_pool(Tensor.from_numpy(a), **ours(case), return_indices=True, column_major=column_major)
    number = np.arange(a.size, dtype=np.float64).reshape(shape)
    found = references.windows(a.astype(np.float64), **case, fill=-np.inf)
    numbers = references.windows(number, **case, fill=-1)
    flat = (*found.shape[:4], found.shape[4] * found.shape[5])
    first = found.reshape(flat).argmax(-1)
    want = np.take_along_axis(numbers.reshape(flat), first[..., None], -1)[..., 0].astype(int)
    if column_major:
        plane = shape[2] * shape[3]
        rows, columns = want % plane // shape[3], want % plane % shape[3]
        want = np.where(want < 0, -1, want // plane * plane + columns * shape[2] + rows)
    assert np.array_equal(indices.numpy(), want)
    assert np.array_equal(got.numpy(), found.max((4, 5), initial=-np.inf))


@pytest.mark.parametrize("dtype", ["i32", "u8", "f16"])
def test_types(dtype: str) -> None:
    a = values((1, 3, 7, 9), dtype, 1)
    got = ops.max_pool(Tensor.from_numpy(a), 3, padding=1)
    want = references.windows(a.astype(np.float64), (3, 3), (1, 1), [(1, 1)] * 2, (1, 1), -np.inf).max((4, 5))
    assert got.dtype.name == dtype and np.array_equal(got.numpy(), want)
    mean = ops.average_pool(Tensor.from_numpy(a), 2)
    assert mean.dtype.name == ("f16" if dtype == "f16" else "f32")
    want = references.windows(a.astype(np.float64), (2, 2), (1, 1), [(0, 0)] * 2, (1, 1)).mean((4, 5))
    np.testing.assert_allclose(mean.numpy(), want, rtol=1e-3 if dtype == "f16" else 1e-6, atol=1e-3)


def test_nan_is_the_maximum_of_its_windows() -> None:
    a = np.array([[[1, np.nan, 3, 2, 1, 0]]], np.float32)
    got, indices = ops.max_pool(Tensor.from_numpy(a), 2, return_indices=True)
    np.testing.assert_array_equal(got.numpy()[0, 0], [np.nan, np.nan, 3, 2, 1])
    assert indices.numpy()[0, 0].tolist() == [1, 1, 2, 3, 4]


def test_pooling_over_whole_axes() -> None:
    a = values((2, 3, 5, 7), "f32", 1)
    x = Tensor.from_numpy(a)
    assert np.array_equal(ops.global_max_pool(x).numpy(), a.max((2, 3), keepdims=True))
    np.testing.assert_allclose(ops.global_average_pool(x).numpy(), a.mean((2, 3), keepdims=True), rtol=1e-5, atol=1e-6)
    want = (np.abs(a) ** 3).sum((2, 3), keepdims=True) ** (1 / 3)
    np.testing.assert_allclose(ops.global_lp_pool(x, 3).numpy(), want, rtol=1e-5)


def test_invalid_arguments() -> None:
    x = Tensor.zeros((1, 2, 5, 5))
    with pytest.raises(ShapeError, match="size"):
        ops.max_pool(x, (2, 2, 2))
    with pytest.raises(ShapeError, match="spatial"):
        ops.max_pool(Tensor.zeros((2, 2)), 2)
    with pytest.raises(DtypeError, match="bools"):
        ops.max_pool(x.to("bool"), 2)
    assert ops.max_pool(x, 9).shape == (1, 2, 0, 0)


def test_old_names_work_with_a_warning(gpu: Gpu) -> None:
    x = Tensor.from_numpy(np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4))
    with warned(r"max_pool\(\.\.\., return_indices=True\)"):
        _, flat_indices = ops.max_pool_with_places(x, 2, stride=2)  # type: ignore[attr-defined]
    assert flat_indices.numpy().ravel().tolist() == [5, 7, 13, 15]
    with warned("average_pool: count_padding is now called count_include_pad"):
        padded = ops.average_pool(x, 2, padding=1, count_padding=True)  # type: ignore[call-arg]
    assert padded.numpy()[0, 0, 0, 0] == 0.0
    with warned("scatter_nd: join is now called reduction"):
        summed = ops.scatter_nd(np.ones(3, np.float32), [[1]], np.ones(1, np.float32), join="put")  # type: ignore[call-arg]
    assert summed.numpy().tolist() == [1, 1, 1]


@pytest.mark.parametrize("size", [(400, 300), (120000, 1), (32000, 1, 1)])
def test_windows_of_more_elements_than_iterations_of_llvmpipe(gpu: Gpu, size: tuple[int, ...]):
    """It ends all loops of an invocation after 65,535 iterations: the last element of these windows comes later."""
    array = np.zeros((1, 1, *size), np.float32)
    array.flat[-1] = array.size
    with Tensor.from_numpy(array) as x:
        largest, indices = ops.max_pool(x, size, return_indices=True)
        assert largest.item() == array.size and indices.item() == array.size - 1
        assert ops.average_pool(x, size).item() == pytest.approx(1.0, rel=1e-6)
        assert ops.lp_pool(x, size).item() == pytest.approx(array.size, rel=1e-6)
