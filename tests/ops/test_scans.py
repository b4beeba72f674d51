"""Scans against NumPy: every kernel path, layout, type and edge length; and workgroups that never publish."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vertigrad import Tensor, ops
from vertigrad.errors import DtypeError, ShapeError
from vertigrad.gpu import Kernel, Plan
from vertigrad.ops import lines, scans

from .layouts import DTYPES, examples, layouts, seeds, shapes, values
from .primitives import edges, every_path, here, path, replayed_twice

HOW = ["sum", "prod", "min", "max"]
UFUNC: dict[str, Any] = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}
TILE = 8192


def reference(how: str, a: np.ndarray, axis: int, exclusive: bool, reverse: bool) -> np.ndarray:
    """NumPy's scan, in float64 for sums of floats, in 32 bits for integers."""
    if how in ("sum", "prod"):
        a = a.astype(np.float64 if a.dtype.kind == "f" else np.int32 if a.dtype.kind == "i" else np.uint32)
    elif a.dtype.kind == "b" or a.dtype.itemsize == 1:
        a = a.astype(np.uint32)
    a = np.flip(a, axis) if reverse else a
    total = UFUNC[how].accumulate(a, axis) if a.size else a
    if exclusive and a.size:
        limits = np.iinfo(a.dtype) if a.dtype.kind in "iu" else None
        least = -np.inf if limits is None else limits.min
        most = np.inf if limits is None else limits.max
        first = {"sum": 0, "prod": 1, "min": most, "max": least}[how]
        total = np.roll(total, 1, axis)
        total[(*[slice(None)] * axis, 0)] = first
    return np.flip(total, axis) if reverse else total


def compare(
    how: str, a: np.ndarray, got: Tensor, axis: int = 0, exclusive: bool = False, reverse: bool = False
) -> None:
    """Exact except for sums and products of floats."""
    with np.errstate(all="ignore"):
        want = reference(how, a, axis, exclusive, reverse)
    assert got.shape == want.shape
    values = got.numpy()
    if a.dtype.kind != "f" or how in ("min", "max"):
        assert np.array_equal(values, want, equal_nan=a.dtype.kind == "f")
        return
    scale = np.abs(a).astype(np.float64).sum() if how == "sum" else np.maximum(np.abs(want), 1)
    error = 1e-6 * scale + (np.abs(want) * 2.0**-10 + 1e-4 if a.dtype == np.float16 else 0)
    assert (np.abs(values.astype(np.float64) - want) <= error).all()


@pytest.mark.turns(2)
@pytest.mark.parametrize("how", HOW)
@examples
@given(data=st.data(), seed=seeds)
def test_any_layout_axis_and_type(how: str, data: st.DataObject, seed: int):
    dtype = data.draw(st.sampled_from(DTYPES))
    shape = data.draw(shapes(min_rank=1))
    layout, axis = data.draw(layouts(shape)), data.draw(st.integers(-len(shape), len(shape) - 1))
    exclusive, reverse = data.draw(st.booleans()), data.draw(st.booleans())
    a, x = layout.both(values(layout.whole, dtype, seed))
    if how == "prod" and dtype != "bool":
        a, x = np.sign(a), ops.sign(x)
    with path(data.draw(st.sampled_from(here()))):
        got = ops.scan(how, x, axis, exclusive=exclusive, reverse=reverse)
    compare(how, a, got, axis % len(shape), exclusive, reverse)


@every_path
@pytest.mark.parametrize("n", edges(64, 1024, TILE, 3 * TILE))
def test_edge_lengths(name: str, n: int):
    a = values((n,), "f32", n)
    with path(name):
        compare("sum", a, ops.cumsum(Tensor.from_numpy(a)))
        before = ops.cumsum(Tensor.from_numpy(a), exclusive=True)
        compare("sum", a, before, exclusive=True)
        assert not np.signbit(before.numpy()[:1]).any()  # the empty sum is 0, not −0


@every_path
def test_long_lines_many_lines_and_strided_lines(name: str):
    with path(name):
        for shape, axis in (((300_007,), 0), ((3, 20_004), 1), ((20_003, 3), 0), ((9000, 2, 2), 0), ((70, 5000), 0)):
            a = values(shape, "f32", 1)
            compare("sum", a, ops.cumsum(Tensor.from_numpy(a), axis), axis)


def test_all_paths_give_the_same_bits_and_so_do_views():
    """Also where elements are read one by one instead of four at a time."""
    a = np.random.default_rng(2).normal(size=(3 * TILE + 2000) * 2).astype(np.float32)
    got = set()
    for name in here():
        with path(name):
            got.add(ops.cumsum(Tensor.from_numpy(a[::2])).numpy().tobytes())
            got.add(ops.cumsum(Tensor.from_numpy(a)[::2]).numpy().tobytes())
            got.add(ops.cumsum(Tensor.from_numpy(a[::2][::-1].copy())[::-1]).numpy().tobytes())
            got.add(ops.cumsum(Tensor.from_numpy(np.append(np.float32(9), a[::2]))[1:]).numpy().tobytes())
    assert len(got) == 1


@every_path
def test_nan_and_infinity_stay(name: str):
    a = values((2 * TILE + 5,), "f32", 3)
    a[[5000, 9000]] = np.nan, np.inf
    with path(name):
        for how in ("sum", "max"):
            got = ops.scan(how, Tensor.from_numpy(a)).numpy()
            assert np.isnan(got[5000:]).all() and not np.isnan(got[:5000]).any()
    b = np.array([-np.inf, 1, 2], np.float32)
    assert ops.cummax(b).numpy().tolist() == [-np.inf, 1, 2]


def test_integers_wrap_and_small_ones_are_widened():
    big = np.full(2 * TILE + 9, 2**31 - 1, np.int32)
    assert np.array_equal(ops.cumsum(big).numpy(), np.cumsum(big, dtype=np.int32))
    flags = np.full(TILE + 9, True)
    assert ops.cumsum(flags).dtype.name == "u32"
    assert np.array_equal(ops.cumsum(flags).numpy(), np.arange(1, TILE + 10))
    assert ops.cumsum(np.full(70_000, 255, np.uint8)).numpy()[-1] == 255 * 70_000


def test_out_and_errors():
    a = values((6, 40), "f32", 4)
    x = Tensor.from_numpy(a)
    into = Tensor.zeros((6, 80))
    ops.cumsum(x, 1, out=into[:, ::2])
    np.testing.assert_allclose(into.numpy()[:, ::2], np.cumsum(a, 1), rtol=1e-4, atol=1e-4)
    assert not into.numpy()[:, 1::2].any()
    ops.cumsum(x, 1, out=x)  # reads what it writes: as if read first
    np.testing.assert_allclose(x.numpy(), np.cumsum(a, 1), rtol=1e-4, atol=1e-4)
    with pytest.raises(ShapeError, match="is not written to a tensor of shape"):
        ops.cumsum(x, 1, out=Tensor.zeros((6, 41)))
    with pytest.raises(DtypeError, match="is not written to a tensor of i32"):
        ops.cumsum(x, 1, out=Tensor.zeros((6, 40), "i32"))
    with pytest.raises(ShapeError, match="axis 2 is outside of 2 axes"):
        ops.cumsum(x, 2)
    with pytest.raises(DtypeError, match="no running total is called 'median'"):
        ops.scan("median", x)


# in plans -------------------------------------------------------------------------------------------------------------


@every_path
def test_a_plan_recomputes_from_the_current_values(name: str, steady: Any):
    a = values((3 * TILE,), "i32", 5)
    with path(name), Tensor.from_numpy(a) as x, Tensor.empty(a.size, "i32") as out, Plan() as plan:
        with plan.recording():
            ops.cumsum(x, out=out)
        (got,) = replayed_twice(plan, out)
        assert np.array_equal(got, np.cumsum(a, dtype=np.int32))
        x.add_(1)
        (got,) = replayed_twice(plan, out)
        assert np.array_equal(got, np.cumsum(a + 1, dtype=np.int32))
    with Tensor.from_numpy(a) as x, Plan() as plan:
        with plan.recording():
            ops.cumsum(x, out=x)  # each replay continues from the previous one
        for _ in range(2):
            plan.replay()
            a = np.cumsum(a, dtype=np.int32)
            assert np.array_equal(x.numpy(), a)


# workgroups that do not run concurrently ------------------------------------------------------------------------------


NUMBER = "let number = group.y * num_workgroups.x + group.x;"


def stopped(tiles: int, publish: Any) -> np.ndarray:
    """A chained scan of ones, of which the first `tiles` tiles belong to workgroups that do not run.

    `publish` fills in their published words (tiles, 4).
    """
    ones = Tensor.from_numpy(np.ones((tiles + 3) * TILE, np.uint32))
    out = Tensor.zeros(ones.size, "u32")

    def publish_first(published: Tensor, zero: int) -> None:
        words = np.zeros((tiles + 3, scans.RECORD), np.uint32)
        publish(words[:tiles])
        ops.assign(published, words.reshape(-1))

    def load(path: str, entry: str, defines: dict[str, Any]) -> Kernel:
        before, after = Kernel.load(path, entry, defines).source.split(f"fn {entry}(")
        assert NUMBER in after
        later = after.replace(NUMBER, f"{NUMBER[:-1]} + {tiles}u;", 1)
        return Kernel(f"{before}fn {entry}({later}", entry, path, trusted=True)

    with patch.object(scans, "assign", publish_first), patch.object(scans, "Kernel", SimpleNamespace(load=load)):
        ops.cumsum(ones, 0, out=out)
    return out.numpy()[tiles * TILE :]


def total(words: np.ndarray, value: int, kind: int = 1) -> None:
    words[..., 0] = kind << 16 | value & 0xFFFF
    words[..., 1] = kind << 16 | value >> 16


@pytest.mark.parametrize("case", ["totals only", "nothing", "some missing", "half written", "a running total far back"])
def test_a_chained_scan_ends_for_any_published_state(case: str, monkeypatch: pytest.MonkeyPatch):
    """It looks back over several windows, and recomputes what is missing or incomplete."""
    monkeypatch.setattr(scans, "SPIN_LIMIT", 3)

    def publish(words: np.ndarray) -> None:
        if case == "nothing":
            return
        total(words, TILE)
        if case == "some missing":
            words[[0, 7, 30, 31, -1]] = 0
        elif case == "half written":
            words[[3, 40], 0] = 2 << 16 | 77
            words[-1, 1] = 0
        elif case == "a running total far back":
            total(words[4], 5 * TILE, kind=2)

    with path("chained"):
        got = stopped(70, publish)
    assert np.array_equal(got, np.arange(70 * TILE + 1, 73 * TILE + 1))


def test_with_a_spin_limit_of_zero_the_bits_are_the_same(monkeypatch: pytest.MonkeyPatch):
    a = np.random.default_rng(6).normal(size=40 * TILE + 3).astype(np.float32)
    with path("chained"):
        patient = ops.cumsum(a).numpy()
        monkeypatch.setattr(scans, "SPIN_LIMIT", 0)
        assert ops.cumsum(a).numpy().tobytes() == patient.tobytes()


def test_lines_have_the_order_of_axes_unless_merged():
    x = Tensor.zeros((4, 5, 6)).permute(2, 0, 1)
    assert lines.Lines.along(1, (x,)).shape == [6, 5]
    assert lines.Lines.along(1, (x,), ordered=False).shape == [30]
