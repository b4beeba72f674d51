"""Segment reductions against NumPy: short, long and empty segments, all rows in one, and sorted keys."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vertigrad import Tensor, ops
from vertigrad.errors import DtypeError, ShapeError
from vertigrad.gpu import Plan

from .layouts import DTYPES, examples, layouts, seeds, shapes, values
from .primitives import every_path, path, replayed_twice

HOW = ["sum", "mean", "min", "max"]


def reference(how: str, a: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """In float64 for sums of floats, in 32 bits for integers."""
    kind = a.dtype.kind
    if how in ("sum", "mean"):
        wide: Any = np.float64 if kind == "f" or how == "mean" else np.int32 if kind == "i" else np.uint32
    else:
        wide = a.dtype if kind in "fi" else np.uint32
    a = a.astype(wide)
    limits = np.iinfo(wide) if wide in (np.int32, np.uint32) else None
    empty = {"sum": 0, "mean": np.nan, "min": np.inf, "max": -np.inf}[how]
    if limits is not None and how in ("min", "max"):
        empty = limits.max if how == "min" else limits.min
    out = np.full((len(offsets) - 1, *a.shape[1:]), empty, wide)
    for s, (first, end) in enumerate(pairwise(offsets)):
        if end > first:
            rows = a[first:end]
            out[s] = rows.sum(0, dtype=wide) if how == "sum" else getattr(np, how)(rows, axis=0)
    return out


def compare(how: str, a: np.ndarray, got: Tensor, offsets: np.ndarray) -> None:
    want = reference(how, a, offsets)
    assert got.shape == want.shape
    if how in ("min", "max") or (how == "sum" and a.dtype.kind != "f"):
        assert np.array_equal(got.numpy(), want)
    else:
        scale = reference(how, np.abs(a.astype(np.float64)), offsets)
        error = 1e-5 * scale + (2.0**-10 * np.abs(want) + 1e-4 if a.dtype == np.float16 else 1e-30)
        assert np.array_equal(np.isnan(got.numpy()), np.isnan(want))
        assert not (np.abs(got.numpy() - want) > error).any()


@pytest.mark.turns(2)
@pytest.mark.parametrize("how", HOW)
@examples
@given(data=st.data(), seed=seeds)
def test_any_rows_type_and_offsets(how: str, data: st.DataObject, seed: int):
    shape = data.draw(shapes(min_rank=1))
    layout = data.draw(layouts(shape))
    a, x = layout.both(values(layout.whole, data.draw(st.sampled_from(DTYPES)), seed))
    inner = data.draw(st.lists(st.integers(0, shape[0]), max_size=9))
    offsets = np.sort(np.array([*inner, data.draw(st.integers(0, shape[0]))]))
    compare(how, a, ops.segmented_reduce(how, x, offsets.astype(np.int32)), offsets)


DIVISIONS = {
    "all in one": (100_000, lambda n: [0, n]),
    "all in the first": (50_000, lambda n: [0, n, *[n] * 20]),
    "all in the last": (50_000, lambda n: [0] * 20 + [n]),
    "short ones": (20_000, lambda n: [*range(0, n + 1, 4)]),
    "short ones and a long one": (40_000, lambda n: [*range(6000), n]),
    "of all lengths": (60_000, lambda n: [*np.cumsum(np.arange(300)), n]),
    "none of any length": (5, lambda n: [0] * 5000),
    "pieces exactly full": (1 << 16, lambda n: [0, 1 << 14, 1 << 15, n]),
}


@every_path
@pytest.mark.parametrize("case", DIVISIONS)
def test_every_division_of_the_work(name: str, case: str):
    n, make = DIVISIONS[case]
    offsets = np.array(make(n))
    with path(name):
        for how in ("sum", "max"):
            a = values((n, 2), "f32", 1)
            compare(how, a, ops.segmented_reduce(how, a, offsets.astype(np.uint32)), offsets)


def test_sorted_keys():
    random = np.random.default_rng(2)
    for n, segments in ((0, 4), (1, 1), (3000, 7), (3000, 9000)):
        for dtype in (np.int32, np.uint32):
            keys = np.sort(random.integers(0, segments, n)).astype(dtype)
            offsets = np.searchsorted(keys, np.arange(segments + 1))
            assert np.array_equal(ops.segment_starts(keys, segments).numpy(), offsets)
            a = values((n, 3), "f32", 3)
            compare("mean", a, ops.reduce_by_key("mean", a, keys, segments), offsets)
    keys = np.array([-3, -1, 0, 2, 2, 7], np.int32)  # below and above all segments: in no segment
    assert ops.segment_starts(keys, 4).numpy().tolist() == [2, 3, 3, 5, 5]


def test_offsets_beyond_the_rows_count_as_the_end():
    a = values((10,), "f32", 4)
    got = ops.segmented_reduce("max", a, np.array([2, 8, 40, 50], np.uint32)).numpy()
    assert got.tolist() == [a[2:8].max(), a[8:].max(), -np.inf]


def test_errors():
    x = Tensor.zeros((4, 3))
    with pytest.raises(DtypeError, match="no reduction of segments is called 'median'"):
        ops.segmented_reduce("median", x, np.array([0, 4], np.int32))
    with pytest.raises(DtypeError, match="offsets are f32; they must be i32 or u32"):
        ops.segmented_reduce("sum", x, np.array([0, 4], np.float32))
    with pytest.raises(ShapeError, match=r"offsets of shape \(0,\)"):
        ops.segmented_reduce("sum", x, np.zeros(0, np.int32))
    with pytest.raises(ShapeError, match=r"keys of shape \(3,\) for rows of shape \(4, 3\)"):
        ops.reduce_by_key("sum", x, np.zeros(3, np.int32), 2)
    with pytest.raises(ShapeError, match="segmented sum: a result of shape"):
        ops.segmented_reduce("sum", x, Tensor.zeros(3, "u32"), out=Tensor.zeros((3, 3)))


def test_a_plan_repeats_it(steady: Any):
    a = values((9000, 2), "f32", 5)
    keys = np.sort(np.random.default_rng(6).integers(0, 50, 9000)).astype(np.uint32)
    with (
        Tensor.from_numpy(a) as x,
        Tensor.from_numpy(keys) as k,
        Tensor.empty(51, "u32") as offsets,
        Tensor.empty((50, 2)) as out,
        Plan() as plan,
    ):
        with plan.recording():
            ops.segment_starts(k, 50, out=offsets)
            ops.segmented_reduce("sum", x, offsets, out=out)
        replayed_twice(plan, offsets, out)
        compare("sum", a, out, np.searchsorted(keys, np.arange(51)))
