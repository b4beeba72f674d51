"""Histograms against NumPy: integers exactly, values by the same sum in f32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vertigrad import Tensor, ops
from vertigrad.errors import DtypeError, ShapeError
from vertigrad.gpu import Plan

from .layouts import examples, layouts, seeds, shapes, values
from .primitives import edges, replayed_twice


def reference(a: np.ndarray, bins: int, low: float, high: float) -> np.ndarray:
    """The bin computed in f32."""
    a, lowest, highest = a.astype(np.float32).ravel(), np.float32(low), np.float32(high)
    with np.errstate(invalid="ignore", over="ignore"):
        inside = a[(a >= lowest) & (a <= highest)]
        bin_index = ((inside - lowest) * (np.float32(bins) / (highest - lowest))).astype(np.int64)
    return np.bincount(np.minimum(bin_index, bins - 1), minlength=bins)


@examples
@given(data=st.data(), seed=seeds)
def test_values_of_any_layout(data: st.DataObject, seed: int):
    layout = data.draw(layouts(data.draw(shapes())))
    a, x = layout.both(values(layout.whole, data.draw(st.sampled_from(["f32", "f16", "i32", "u8"])), seed))
    bins, low = data.draw(st.integers(1, 40)), data.draw(st.floats(-20, 20, width=32))
    high = low + data.draw(st.sampled_from([0.5, 1.0, 7.0, 100.0]))
    got = ops.histogram(x, bins, (low, high)).numpy()
    assert abs(got.astype(int) - reference(a, bins, low, high)).sum() <= 2 * (
        a.size > 0
    )  # a division in f32 may round up
    assert got.sum() == reference(a, bins, low, high).sum()


def test_away_from_edges_the_counts_equal_numpys():
    a = np.random.default_rng(1).integers(0, 1 << 20, 100_000).astype(np.float32) + 0.5
    for bins in (1, 16, 256, 2048, 4096):
        want = np.histogram(a, bins, (0, 1 << 20))[0]
        assert np.array_equal(ops.histogram(a, bins, (0, 1 << 20)).numpy(), want)


def test_limits_are_included_and_values_outside_are_not():
    a = np.array([0, 1, 2, np.nextafter(np.float32(2), np.float32(3)), -1e-45 - 1, np.nan, np.inf, -np.inf], np.float32)
    assert ops.histogram(a, 2, (0, 2)).numpy().tolist() == [1, 2]


@examples
@given(data=st.data(), seed=seeds)
def test_integers_of_any_layout(data: st.DataObject, seed: int):
    layout = data.draw(layouts(data.draw(shapes())))
    a, x = layout.both(values(layout.whole, data.draw(st.sampled_from(["i32", "u32", "u8", "bool"])), seed))
    bins = data.draw(st.integers(1, 60))
    chosen = a.astype(np.int64).ravel()
    want = np.bincount(chosen[(chosen >= 0) & (chosen < bins)], minlength=bins)
    assert np.array_equal(ops.bincount(x, bins).numpy(), want)


@pytest.mark.parametrize("bins", [1, 255, 256, 257, 2048, 2049, 100_000])
@pytest.mark.parametrize("n", edges(4096))
def test_bins_in_workgroup_memory_and_beyond(bins: int, n: int):
    a = np.random.default_rng(n).integers(0, bins, n).astype(np.uint32)
    assert np.array_equal(ops.bincount(a, bins).numpy(), np.bincount(a, minlength=bins))


def test_all_in_one_bin():
    assert ops.bincount(np.full(300_000, 7, np.int32), 9).numpy().tolist() == [0] * 7 + [300_000, 0]


def test_errors():
    x = Tensor.zeros(4)
    with pytest.raises(DtypeError, match="elements are f32; they must be integers"):
        ops.bincount(x, 3)
    for bins in (0, -1):
        with pytest.raises(ShapeError, match="needs one bin at least"):
            ops.histogram(x, bins, (0, 1))
    for limits in ((1, 1), (2, 1), (0, np.nan), (0, np.inf)):
        with pytest.raises(ShapeError, match="two finite f32 numbers"):
            ops.histogram(x, 3, limits)
    with pytest.raises(DtypeError, match="a result of u32 is not written to a tensor of i32"):
        ops.bincount(Tensor.zeros(4, "i32"), 3, out=Tensor.zeros(3, "i32"))


def test_each_replay_starts_from_zero(steady: Any):
    a = np.random.default_rng(2).integers(0, 9, 10_000).astype(np.int32)
    with (
        Tensor.from_numpy(a) as x,
        Tensor.empty(9, "u32") as counts,
        Tensor.empty(4, "u32") as binned,
        Plan() as plan,
    ):
        with plan.recording():
            ops.bincount(x, 9, out=counts)
            ops.histogram(x, 4, (0, 8), out=binned)
        got = replayed_twice(plan, counts, binned)
        assert np.array_equal(got[0], np.bincount(a)) and np.array_equal(got[1], reference(a, 4, 0, 8))
