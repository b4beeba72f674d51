"""Compaction against NumPy's boolean indexing, and indirect dispatches and draws of its count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vertigrad import Tensor, ops
from vertigrad.errors import DtypeError, ShapeError
from vertigrad.gpu import Kernel, Plan

from .layouts import DTYPES, examples, layouts, seeds, shapes, values
from .primitives import edges, every_path, path, replayed_twice

TILE = 8192


@examples
@given(data=st.data(), seed=seeds)
def test_any_layout_and_mask(data: st.DataObject, seed: int):
    shape = data.draw(shapes(min_rank=1))
    layout = data.draw(layouts(shape))
    rank = data.draw(st.integers(1, len(shape)))
    mask_layout = data.draw(layouts(shape[:rank]))
    a, x = layout.both(values(layout.whole, data.draw(st.sampled_from(["f32", "i32", "u32", "bool"])), seed))
    b, mask = mask_layout.both(values(mask_layout.whole, data.draw(st.sampled_from(DTYPES)), seed + 1).round())
    saved, count = ops.compact(x, mask)
    n = count.item()
    assert saved.shape == (b.size, *shape[rank:])
    assert n == np.count_nonzero(b)
    assert np.array_equal(saved.numpy()[:n], a[b != 0])


@examples
@given(data=st.data(), seed=seeds)
def test_nonzero_of_any_layout_and_type(data: st.DataObject, seed: int):
    layout = data.draw(layouts(data.draw(shapes())))
    a, x = layout.both(values(layout.whole, data.draw(st.sampled_from(DTYPES)), seed).round())
    indices, count = ops.nonzero(x)
    assert indices.shape == (a.size, a.ndim)
    assert np.array_equal(indices.numpy()[: count.item()], np.argwhere(a))


@every_path
@pytest.mark.parametrize("n", edges(TILE, 3 * TILE))
def test_edge_lengths_and_masks_that_select_all_or_none(name: str, n: int):
    a = values((n,), "f32", n)
    with path(name):
        for mask in (np.full(n, True), np.full(n, False), np.arange(n) == n - 1, np.arange(n) % 3 == 0):
            saved, count = ops.compact(a, mask)
            assert count.item() == mask.sum()
            assert np.array_equal(saved.numpy()[: count.item()], a[mask])


def test_nan_is_selected_and_negative_zero_is_not():
    a = np.array([np.nan, -0.0, 0.0, 1e-45, np.inf], np.float32)
    indices, count = ops.nonzero(a)
    assert indices.numpy()[: count.item(), 0].tolist() in ([0, 3, 4], [0, 4])  # subnormal numbers may count as 0


def test_errors():
    x = Tensor.zeros((4, 3))
    with pytest.raises(ShapeError, match=r"a mask of shape \(3,\) does not choose rows of shape \(4, 3\)"):
        ops.compact(x, np.zeros(3, bool))
    with pytest.raises(DtypeError, match="elements are u8; they must have 32 bits"):
        ops.compact(Tensor.zeros(4, "u8"), np.zeros(4, bool))
    with pytest.raises(ShapeError, match="compact: values: a result of shape"):
        ops.compact(x, Tensor.zeros(4, "bool"), out=(Tensor.zeros((3, 3)), Tensor.zeros(1, "u32")))
    with pytest.raises(ShapeError, match=r"\(3,\) from \(1,\)"):
        ops.dispatch_size(Tensor.zeros(2, "u32"), kernel(FILL))
    with pytest.raises(DtypeError, match="both must be u32"):
        ops.draw_size(Tensor.zeros(1, "i32"))
    with pytest.raises(ShapeError, match="they must be a row"):
        ops.dispatch_size(Tensor.zeros(1, "u32"), kernel(FILL.replace("(64)", "(8, 8)")))


# indirect dispatches and draws --------------------------------------------------------------------------------------

FILL = """
struct Params { value: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> count: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<atomic<u32>>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = id.y * (num_workgroups.x * 64u) + id.x;
    if i == 0u { atomicStore(&out[1], num_workgroups.x * num_workgroups.y * num_workgroups.z); }
    if i < count[0] { atomicAdd(&out[0], params.value); }
}
"""


def kernel(source: str) -> Kernel:
    return Kernel(source, "main", "test kernel")


def test_a_plan_dispatches_as_many_as_were_selected(steady: Any):
    """Compaction, its count, and the indirect dispatch in one plan: nothing is read back between them."""
    n, fill = 5000, kernel(FILL)
    a = np.random.default_rng(1).normal(size=n).astype(np.float32)
    with (
        Tensor.from_numpy(a) as x,
        Tensor.empty(n, "bool") as mask,
        Tensor.empty(n) as saved,
        Tensor.empty(1, "u32") as count,
        Tensor.empty(3, "u32") as size,
        Tensor.zeros(2, "u32") as out,
        Plan("compacted") as plan,
    ):
        with plan.recording():
            ops.compact(x, mask, out=(saved, count))
            ops.dispatch_size(count, fill, out=size)
            fill(0, indirect=size, count=count, out=out, value=1)
        for chosen in (a > 0, a > 2, a > 100, a < 100):
            ops.assign(mask, chosen)
            ops.assign(out, 0)
            plan.replay()
            many = int(chosen.sum())
            assert out.numpy().tolist() == [many, -(-many // 64)]
            assert np.array_equal(saved.numpy()[:many], a[chosen])


def test_the_size_of_a_dispatch_folds_a_long_row():
    with Tensor.from_numpy(np.array([70_000 * 64 + 1], np.uint32)) as number:
        x, y, z = ops.dispatch_size(number, kernel(FILL)).numpy().tolist()
        assert x <= 65_535 and x * y >= 70_001 and x * (y - 1) < 70_001 and z == 1
    with Tensor.from_numpy(np.array([10], np.uint32)) as number:
        assert ops.dispatch_size(number, kernel(FILL), each=13).numpy().tolist() == [3, 1, 1]
        assert ops.draw_size(number, vertices=6).numpy().tolist() == [6, 10, 0, 0]
        assert ops.draw_size(number).numpy().tolist() == [10, 1, 0, 0]


def test_plans_repeat_it(steady: Any):
    a = values((3000, 2), "i32", 7).round()
    with (
        Tensor.from_numpy(a) as x,
        Tensor.zeros((3000, 2), "i32") as saved,
        Tensor.zeros((6000, 2), "i32") as indices,
        Tensor.empty(1, "u32") as count,
        Tensor.empty(1, "u32") as number,
        Plan() as plan,
    ):
        with plan.recording():
            ops.compact(x, x[:, 1], out=(saved, count))
            ops.nonzero(x, out=(indices, number))
        rows, at, n, m = replayed_twice(plan, saved, indices, count, number)
        assert np.array_equal(rows[: n[0]], a[a[:, 1] != 0])
        assert np.array_equal(at[: m[0]], np.argwhere(a))


def test_eager_functions_can_be_recorded_too(steady: Any):
    """Inside of `Plan.recording` the functions are added to the plan, scratch memory included."""
    a = np.random.default_rng(8).normal(size=20_000).astype(np.float32)
    with Tensor.from_numpy(a) as x, Plan() as plan:
        with plan.recording():
            saved, count = ops.compact(x, ops.greater(x, 0.5))
            ordered, indices = ops.sort_pairs(x)
            total = ops.cumsum(x[::2], reverse=True)
            means = ops.segmented_reduce("mean", x, np.array([0, 5, 5, 19_000], np.int32))
            counts = ops.histogram(x, 20, (-2, 2))
            drawn = ops.random.uniform(50, 3)
        for b in (a, -a):
            ops.assign(x, b)
            plan.replay()
            assert np.array_equal(saved.numpy()[: count.item()], b[b > 0.5])
            assert np.array_equal(indices.numpy(), np.argsort(b, kind="stable"))
            assert np.array_equal(ordered.numpy(), np.sort(b))
            np.testing.assert_allclose(total.numpy(), np.cumsum(b[::2][::-1])[::-1], rtol=1e-3, atol=1e-2)
            np.testing.assert_allclose(means.numpy(), [b[:5].mean(), np.nan, b[5:19_000].mean()], rtol=1e-3, atol=1e-5)
            assert counts.numpy().sum() == np.count_nonzero(np.abs(b) <= 2)
            assert np.array_equal(drawn.numpy(), ops.random.uniform(50, 3).numpy())
