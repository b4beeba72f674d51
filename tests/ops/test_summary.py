"""Statistics and histograms of tensors against NumPy: every type, any layout, one workgroup and several."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vertigrad
from vertigrad import Tensor
from vertigrad.errors import DtypeError, LayoutError, ShapeError
from vertigrad.ops.summary import (
    BINS,
    CHUNK,
    NEVER,
    SMALL_CHUNK,
    WORDS,
    Condition,
    Summary,
    spread,
    summarize,
    summarize_all,
)
from vertigrad.tensor import dtype_of

from .layouts import DTYPES, examples, layouts, seeds, shapes, values

SPOILED = (np.nan, np.inf, -np.inf)


def summary(x: Tensor, condition: Condition = NEVER) -> Summary:
    with summarize(x, condition) as record:
        return Summary.of(record.numpy(), x.dtype)


def spoiled(a: np.ndarray, seed: int, share: float = 0.2) -> np.ndarray:
    """With some floats set to NaN or infinity."""
    if a.dtype.kind != "f":
        return a
    random = np.random.default_rng(seed)
    return np.where(random.uniform(size=a.shape) < share, random.choice(SPOILED, a.shape), a).astype(a.dtype)


def check(a: np.ndarray, got: Summary, condition: Condition = NEVER) -> None:
    flat = a.reshape(-1).astype(np.float64)
    good = flat[np.isfinite(flat)]
    assert (got.size, got.finite) == (flat.size, good.size)
    assert got.nan == np.isnan(flat).sum()
    assert (got.positive_infinite, got.negative_infinite) == ((flat == np.inf).sum(), (flat == -np.inf).sum())
    assert got.infinite == np.isinf(flat).sum()
    offending = met(flat, condition)
    assert (got.met, got.first) == (offending.sum(), int(offending.argmax()) if offending.any() else None)
    if not good.size:
        assert (got.min, got.max, got.min_at, got.max_at, got.mean, got.std, got.norm) == (None,) * 7
        return
    assert (got.min, got.max) == (good.min(), good.max())
    finite = np.where(np.isfinite(flat), flat, np.nan)
    assert (got.min_at, got.max_at) == (np.nanargmin(finite), np.nanargmax(finite))
    largest = np.abs(good).max()
    assert got.mean == pytest.approx(good.mean(), abs=2e-6 * largest)
    assert got.std == pytest.approx(good.std(), rel=2e-5, abs=2e-6 * largest)
    assert got.norm == pytest.approx(np.linalg.norm(good), rel=2e-5)


def met(flat: np.ndarray, condition: Condition) -> np.ndarray:
    found = np.zeros(flat.shape, bool)
    if condition.nan:
        found |= np.isnan(flat)
    if condition.infinite:
        found |= np.isinf(flat)
    if condition.below is not None:
        found |= flat < np.float32(condition.below)
    if condition.above is not None:
        found |= flat > np.float32(condition.above)
    return found


conditions = st.builds(
    Condition,
    nan=st.booleans(),
    infinite=st.booleans(),
    below=st.sampled_from([None, -3.0, 0.0, 0.1]),
    above=st.sampled_from([None, 2.0, 30.5]),
)


@examples
@given(data=st.data(), seed=seeds)
def test_any_layout_and_type(data: st.DataObject, seed: int):
    dtype, shape = data.draw(st.sampled_from(DTYPES)), data.draw(shapes())
    layout, condition = data.draw(layouts(shape)), data.draw(conditions)
    a, x = layout.both(spoiled(values(layout.whole, dtype, seed), seed))
    check(a, summary(x, condition), condition)


@pytest.mark.parametrize("size", [1, 255, 256, 257, CHUNK, CHUNK + 1, 5 * CHUNK - 3, 300 * CHUNK + 7])
def test_one_workgroup_and_several(size: int):
    a = spoiled(values((size,), "f32", size), size, 0.01)
    condition = Condition(nan=True, above=25.0)
    check(a, summary(Tensor.from_numpy(a), condition), condition)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type_in_two_passes(dtype: str):
    a = spoiled(values((3, 2 * CHUNK), dtype, 5), 5, 0.01)
    check(a[::-1, ::3], summary(Tensor.from_numpy(a)[::-1, ::3]))


def test_ends_of_the_integers_are_exact():
    for dtype, low, high in (("i4", -(2**31), 2**31 - 1), ("u4", 0, 2**32 - 1)):
        got = summary(Tensor.from_numpy(np.array([5, high, low, high - 1, low + 1], dtype)))
        assert (got.min, got.max, got.min_at, got.max_at) == (low, high, 2, 1)


def test_the_first_of_equal_elements_is_found_anywhere():
    a = np.zeros(4 * CHUNK, np.float32)
    a[[CHUNK + 300, 3 * CHUNK]] = 7.0
    a[[40, 2 * CHUNK + 1]] = -7.0
    got = summary(Tensor.from_numpy(a), Condition(above=6.0))
    assert (got.max_at, got.min_at, got.first, got.met) == (CHUNK + 300, 40, CHUNK + 300, 2)
    a[CHUNK - 1] = np.nan
    got = summary(Tensor.from_numpy(a), Condition(nan=True))
    assert (got.first, got.met, got.nan) == (CHUNK - 1, 1, 1)


def test_a_spread_far_from_zero_does_not_cancel():
    """The mean of the squares minus the square of the mean would have an error larger than the result."""
    a = (1e6 + np.random.default_rng(0).normal(size=200_000)).astype(np.float32)
    assert summary(Tensor.from_numpy(a)).std == pytest.approx(a.astype(np.float64).std(), rel=1e-4)


def test_only_non_finite_elements():
    got = summary(Tensor.from_numpy(np.array([np.nan, np.inf, -np.inf, np.nan], np.float32)), Condition(infinite=True))
    assert got == Summary(4, 0, 2, 1, 1, None, None, None, None, None, None, 2, 1)
    assert got.infinite == 2


def test_no_elements():
    assert summary(Tensor.zeros((0, 3))) == Summary(0, 0, 0, 0, 0, None, None, None, None, None, None, 0, None)
    x = Tensor.zeros((0,))
    assert spread(x, summarize(x)).numpy().sum() == 0


def test_the_same_input_gives_the_same_bits():
    x = Tensor.from_numpy(values((5 * CHUNK,), "f32", 9))
    first = summarize(x).numpy().tobytes()
    assert all(summarize(x).numpy().tobytes() == first for _ in range(3))


def test_many_records_in_one_tensor():
    arrays = [values((n,), "f32", n) for n in (3, CHUNK + 5, 700)]
    records = Tensor.full((4, WORDS), 7, "u32")
    for a, record in zip(arrays, records, strict=False):
        summarize(Tensor.from_numpy(a), out=record)
    rows = records.numpy()
    for a, row in zip(arrays, rows, strict=False):
        check(a, Summary.of(row, dtype_of("f32")))
    assert (rows[3] == 7).all()


@pytest.mark.parametrize("sizes", [(1, SMALL_CHUNK, 3), (7, SMALL_CHUNK + 1, 5 * SMALL_CHUNK, 1)])
@pytest.mark.parametrize("dtypes", [("float32",), ("float32", "float16")])
def test_several_tensors_at_once(sizes: tuple[int, ...], dtypes: tuple[str, ...]):
    random = np.random.default_rng(8)
    arrays = [
        spoiled((random.normal(size=size) + 9).astype(dtypes[n % len(dtypes)]), n, 0.01) for n, size in enumerate(sizes)
    ]
    arrays[2][0] = np.nan  # what the mean is relative to, elsewhere
    tensors = [Tensor.from_numpy(a) for a in arrays]
    with Tensor.zeros((len(sizes) + 1, WORDS), "u32") as records:
        before = vertigrad.gpu().recorder.dispatches
        with records[1:] as rows:
            summarize_all(tensors, rows)
        assert vertigrad.gpu().recorder.dispatches - before == (1 if max(sizes) <= SMALL_CHUNK else 2)
        words = records.numpy()
    assert not words[0].any()
    for a, tensor, row in zip(arrays, tensors, words[1:], strict=True):
        check(a, Summary.of(row, tensor.dtype))


def test_invalid_record_tensors():
    x = Tensor.zeros(4)
    with pytest.raises(ShapeError, match=r"\(13,\) is not written to a tensor of shape \(12,\)"):
        summarize(x, out=Tensor.zeros(WORDS - 1, "u32"))
    with pytest.raises(DtypeError, match="u32 is not written to a tensor of f32"):
        summarize(x, out=Tensor.zeros(WORDS))
    with pytest.raises(LayoutError, match="not contiguous"):
        summarize(x, out=Tensor.zeros((WORDS, 2), "u32")[:, 0])


def test_only_the_record_is_read_back_and_nothing_is_copied():
    meter = vertigrad.gpu().meter
    x = Tensor.from_numpy(values((300, 4), "f32", 1))[:, 1:3]
    vertigrad.gpu().sync()
    before = meter.read()["geometry"]
    summary(x)
    after = meter.read()["geometry"]
    assert {direction: after[direction] - before[direction] for direction in after} == {
        "host_to_device": 0,
        "device_to_device": 0,
        "device_to_host": 4 * WORDS,
    }


# histograms ---------------------------------------------------------------------------------------------------------


def histogram(a: np.ndarray) -> np.ndarray:
    good = a.reshape(-1).astype(np.float64)
    good = good[np.isfinite(good)]
    return np.histogram(good, BINS)[0] if good.size else np.zeros(BINS, int)


def compare(a: np.ndarray, got: Any) -> None:
    """Elements at an edge may be counted on either side of it: edges are rounded."""
    want, counts = histogram(a), got.numpy()
    assert counts.shape == (BINS,) and counts.sum() == want.sum()
    moved = np.abs(np.cumsum(counts.astype(int) - want)).max()
    good = a.reshape(-1).astype(np.float64)
    good = good[np.isfinite(good)]
    if good.size:
        steps = (good - good.min()) / max(np.ptp(good), 1e-30) * BINS
        close = np.abs(steps - np.round(steps)) < 2e-4
        assert moved <= close.sum()


@examples
@given(data=st.data(), seed=seeds)
def test_a_histogram_of_any_layout_and_type(data: st.DataObject, seed: int):
    dtype, shape = data.draw(st.sampled_from(DTYPES)), data.draw(shapes())
    layout = data.draw(layouts(shape))
    a, x = layout.both(spoiled(values(layout.whole, dtype, seed), seed))
    compare(a, spread(x, summarize(x)))


def test_a_histogram_of_many_workgroups():
    a = np.random.default_rng(3).normal(size=(7 * CHUNK, 3)).astype(np.float32)
    x = Tensor.from_numpy(a)[:, 1:]
    compare(a[:, 1:], spread(x, summarize(x)))


def test_equal_elements_are_counted_in_the_middle():
    x = Tensor.full((1000,), 3.5)
    assert spread(x, summarize(x)).numpy().tolist() == [1000 if bin_ == BINS // 2 else 0 for bin_ in range(BINS)]


def test_ends_whose_distance_overflows():
    a = np.array([-3e38, 0.0, 3e38, 3e38], np.float32)
    x = Tensor.from_numpy(a)
    counts = spread(x, summarize(x)).numpy()
    assert (counts[0], counts[BINS // 2], counts[-1], counts.sum()) == (1, 1, 2, 4)


@pytest.mark.parametrize("entry", range(3))
def test_a_record_within_a_larger_tensor(entry: int):
    records = Tensor.zeros((3, WORDS), "u32")
    a = values((5000,), "f32", 8)
    x = Tensor.from_numpy(a)
    summarize(x, out=records[entry])
    compare(a, spread(x, records[entry]))


def test_textual_conditions():
    assert str(Condition(nan=True)) == "NaN"
    assert str(Condition(nan=True, infinite=True, above=2.5)) == "NaN or infinite or above 2.5"
    assert str(Condition(below=-1e-7)) == "below -1e-07"
    assert str(NEVER) == "nothing" and not NEVER.mask
    assert math.log2(Condition(above=0.0).mask) == 3
