"""Sorting against NumPy's stable sort: every kernel path, type, layout and length, and difficult keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vertigrad import Tensor, ops
from vertigrad.errors import DtypeError, ShapeError
from vertigrad.gpu import Plan

from .layouts import examples, layouts, seeds, shapes
from .primitives import edges, every_path, here, path, replayed_twice

DTYPES = {"u32": "u4", "i32": "i4", "f32": "f4"}


def keys(shape: Any, dtype: str, seed: int) -> np.ndarray:
    """Arbitrary bits, so that floats are NaN, infinite and subnormal too; some of them repeated."""
    random = np.random.default_rng(seed)
    bits = random.integers(0, 2**32, shape, dtype=np.uint32)
    if dtype == "f32":
        odd = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0, 1e-45, -1e-45], np.float32).view(np.uint32)
        bits = np.where(random.random(shape) < 0.4, random.choice(odd, shape), bits)
    few = random.integers(0, 5, shape, dtype=np.uint32) * np.uint32(0x40000001)
    return np.array(np.where(random.random(shape) < 0.3, few, bits), np.uint32).view(DTYPES[dtype])


def order(a: np.ndarray, descending: bool, axis: int = -1) -> np.ndarray:
    """Sorted indices; descending order sorts negated keys, which keeps the order of equal elements and NaN."""
    if descending:
        a = -a if a.dtype == np.float32 else -a.astype(np.int64)
    return np.argsort(a, kind="stable", axis=axis)


def check(a: np.ndarray, x: Tensor, descending: bool = False, axis: int = -1) -> None:
    """Compare bit for bit: zeros keep their signs and NaN its bits."""
    permutation = order(a, descending, axis)
    want = np.take_along_axis(a, permutation, axis)
    ordered, at = ops.sort_pairs(x, axis=axis, descending=descending)
    assert np.array_equal(at.numpy(), permutation)
    assert ordered.numpy().tobytes() == want.tobytes()


@pytest.mark.parametrize(("name", "n"), [("portable", 300), ("subgroups", 300), ("subgroups", 9000)])
def test_only_keys_only_indices_and_both(name: str, n: int):
    a = keys(n, "f32", n)
    with path(name):
        check(a, Tensor.from_numpy(a))
        assert np.array_equal(ops.argsort(a).numpy(), order(a, False))
        assert ops.sort(a, descending=True).numpy().tobytes() == a[order(a, True)].tobytes()


@pytest.mark.turns(2)
@examples
@given(data=st.data(), seed=seeds)
def test_any_layout_axis_and_type(data: st.DataObject, seed: int):
    dtype = data.draw(st.sampled_from(list(DTYPES)))
    shape = data.draw(shapes(min_rank=1))
    layout, axis = data.draw(layouts(shape)), data.draw(st.integers(-len(shape), len(shape) - 1))
    a, x = layout.both(keys(layout.whole, dtype, seed))
    with path(data.draw(st.sampled_from(here()[:2]))):
        check(a, x, data.draw(st.booleans()), axis)


@every_path
@pytest.mark.parametrize("n", edges(256, 2048, 4096, 3 * 4096))
def test_edge_lengths(name: str, n: int):
    a = keys(n, "f32", n)
    with path(name):
        check(a, Tensor.from_numpy(a), descending=bool(n % 2))


HARD: dict[str, Callable[[int], np.ndarray]] = {
    "equal": lambda n: np.full(n, 0xFFFFFFFF, np.uint32),
    "zero": lambda n: np.zeros(n, np.uint32),
    "rising": lambda n: np.arange(n, dtype=np.uint32) * np.uint32(40_000),
    "falling": lambda n: np.arange(n, dtype=np.uint32)[::-1].copy(),
    "one out of place": lambda n: np.where(np.arange(n) == n // 2, 0, 7).astype(np.uint32),
    "two values by turns": lambda n: np.where(np.arange(n) % 2, 0xFFFFFFFF, 0xFFFFFF00).astype(np.uint32),
    "one digit each": lambda n: (np.arange(n, dtype=np.uint32) % 256) * np.uint32(0x01010101),
    "high bits only": lambda n: (np.arange(n, dtype=np.uint32) * np.uint32(2654435761)) & np.uint32(0xFF000000),
}


@every_path
@pytest.mark.parametrize("case", HARD)
def test_difficult_keys(name: str, case: str):
    with path(name):
        for n in (3000, 20_000):
            a = HARD[case](n)
            check(a, Tensor.from_numpy(a))
            check(a, Tensor.from_numpy(a), descending=True)


@every_path
def test_lines_longer_than_a_tile_and_views(name: str):
    a = keys((3, 2, 9001), "f32", 1)
    with path(name):
        check(a, Tensor.from_numpy(a))
        check(a[:, :, ::-2], Tensor.from_numpy(a)[:, :, ::-2])
        check(a.transpose(2, 0, 1), Tensor.from_numpy(a).permute(2, 0, 1), axis=0)
        check(a[1:, 1, 5:], Tensor.from_numpy(a)[1:, 1, 5:], descending=True)


@every_path
def test_values_of_any_type_follow_their_keys(name: str):
    a = keys((2, 5000), "i32", 2)
    for dtype in ("f32", "u32", "i32"):
        v = keys((4, 5000), dtype, 3)[::2]
        with path(name):
            ordered, moved = ops.sort_pairs(Tensor.from_numpy(a), Tensor.from_numpy(np.repeat(v, 2, 0))[::2])
        assert ordered.numpy().tobytes() == np.sort(a, kind="stable").tobytes()
        assert moved.dtype.name == dtype
        assert moved.numpy().tobytes() == np.take_along_axis(v, order(a, False), -1).tobytes()


def test_topk():
    a = keys((4, 300, 3), "f32", 4)
    x = Tensor.from_numpy(a)
    for largest in (True, False):
        for k in (0, 1, 7, 300):
            values, permutation = ops.topk(x, k, axis=1, largest=largest)
            want = order(a, largest, 1)[:, :k]
            assert np.array_equal(permutation.numpy(), want)
            assert values.numpy().tobytes() == np.take_along_axis(a, want, 1).tobytes()
    with pytest.raises(ShapeError, match="topk: 4 of 3 elements along axis 2"):
        ops.topk(x, 4, axis=2)


def test_errors():
    x = Tensor.zeros((3, 4))
    with pytest.raises(DtypeError, match=r"keys are f16; they must be u32, i32 or f32: use \.to\(\)"):
        ops.sort(x.to("f16"))
    with pytest.raises(ShapeError, match=r"values have shape \(4, 3\), keys \(3, 4\)"):
        ops.sort_pairs(x, Tensor.zeros((4, 3)))
    with pytest.raises(DtypeError, match="values are u8; they must have 32 bits"):
        ops.sort_pairs(x, Tensor.zeros((3, 4), "u8"))
    with pytest.raises(ShapeError, match="axis 2 is outside of 2 axes"):
        ops.argsort(x, 2)
    with pytest.raises(ShapeError, match="key_bits is 8; 1 to 32, less than 32 for rising u32 keys alone"):
        ops.argsort(x, key_bits=8)
    with pytest.raises(ShapeError, match=r"sort: a result of shape \(3, 4\) is not written to"):
        ops.sort(x, out=Tensor.zeros(4))
    with pytest.raises(DtypeError, match="sort_pairs: a result of i32 is not written to a tensor of f32"):
        ops.sort_pairs(x, out=(Tensor.zeros((3, 4)), Tensor.zeros((3, 4))))


@pytest.mark.parametrize("axis", [0, 1])
def test_results_can_be_anywhere_also_over_the_keys(axis: int):
    a = np.random.default_rng(9).normal(size=(30, 40)).astype(np.float32)
    expected, indices = np.sort(a, axis), np.argsort(a, axis, kind="stable")
    wide = Tensor.zeros((30, 80))
    assert np.array_equal(ops.sort(a, axis, out=wide[:, ::2]).numpy(), expected) and not wide[:, 1::2].numpy().any()
    at = Tensor.zeros((40, 30), "u32")
    assert np.array_equal(ops.argsort(a, axis, out=at.T).numpy(), indices)
    x, permutation = Tensor.from_numpy(a), Tensor.from_numpy(np.arange(1200, dtype=np.int32).reshape(30, 40))
    found = ops.sort_pairs(x, permutation, axis, out=(x, permutation))
    assert found[0] is x and found[1] is permutation and np.array_equal(x.numpy(), expected)
    numbered = np.arange(1200).reshape(30, 40)
    assert np.array_equal(permutation.numpy(), np.take_along_axis(numbered, indices, axis))


@every_path
@pytest.mark.parametrize("n", [1000, 30_000])
def test_a_plan_recomputes_from_the_current_values(name: str, n: int, steady: Any):
    a, b = keys(n, "u32", 5), keys(n, "u32", 6)
    with (
        path(name),
        Tensor.from_numpy(a) as x,
        Tensor.empty(n + 1, "u32") as ordered,
        Tensor.empty(n, "i32") as permutation,
        Plan() as plan,
    ):
        with plan.recording():
            ops.sort_pairs(x, out=(ordered[1:], permutation))
        for c in (a, b):
            ops.assign(x, c)
            got = replayed_twice(plan, ordered[1:], permutation)
            assert np.array_equal(got[0], np.sort(c)) and np.array_equal(got[1], order(c, False))


@every_path
@pytest.mark.parametrize("bits", [1, 8, 9, 17, 24, 32])
def test_fewer_bits_take_fewer_passes(name: str, bits: int):
    n = 10_000
    a = keys(n, "u32", bits) >> np.uint32(32 - bits)
    with path(name), Tensor.from_numpy(a) as x, Tensor.empty(n, "u32") as ordered, Tensor.empty(n, "u32") as at:
        with Plan() as plan:
            with plan.recording():
                ops.sort_pairs(x, key_bits=bits, out=(ordered, at))
            plan.replay()
            whole = len(plan)
        assert np.array_equal(ordered.numpy(), np.sort(a)) and np.array_equal(at.numpy(), order(a, False))
        with Plan() as plan:
            with plan.recording():
                ops.sort(x, out=ordered)
            assert len(plan) * -(-bits // 8) == whole * 4
