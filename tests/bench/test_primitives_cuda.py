"""Parallel primitives against CUDA libraries on the same GPU, in one run: sorts of PyTorch and CuPy, and plain copies.

Floors: a sort of 2²⁴ pairs of 32 bits goes four times over them, reading and writing 16 bytes a pair, and reads the
keys once more each time to count digits: 1.34 GB, 0.45 ms at 3 TB/s. A scan moves 8 bytes an element, as a copy does; a
sum reads 4.

The scan was meant to run at 0.85 of a copy and runs at 0.82 to 0.84 (H100): without looking back its kernel runs at
0.94, the rest is waiting for the totals of earlier tiles. PyTorch's, by CUB, runs at 0.70.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from vertigrad import Tensor, ops
from vertigrad.gpu import Kernel, Plan

from .cuda import replay_milliseconds, torch_milliseconds, torch_on_the_same_gpu

LENGTH = 1 << 27
PAIRS = 1 << 24
COPY = """
@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = id.y * (num_workgroups.x * 256u) + id.x;
    y[i] = x[i];
}
"""


@pytest.fixture
def peers() -> tuple[Any, Any]:
    """PyTorch and CuPy, on the GPU that is measured."""
    cupy = pytest.importorskip("cupy", reason="compares with CUDA through CuPy, which is not installed here")
    return torch_on_the_same_gpu(), cupy


@contextmanager
def uploaded(*arrays: np.ndarray) -> Iterator[list[Tensor]]:
    tensors = [Tensor.from_numpy(array) for array in arrays]
    yield tensors
    for tensor in tensors:
        tensor.close()


@pytest.mark.bench
def test_sorting_pairs_is_as_fast_as_half_of_cuda(peers: tuple[Any, Any]) -> None:
    torch, cupy = peers
    host = np.random.default_rng(1).integers(-(2**31), 2**31, PAIRS, dtype=np.int64).astype(np.int32)
    keys, same = torch.tensor(host, device="cuda"), cupy.asarray(host)
    theirs = {"torch.sort": torch_milliseconds(torch, lambda: torch.sort(keys))}
    theirs["cupy.argsort"] = torch_milliseconds(torch, lambda: cupy.argsort(same))  # both on CUDA's default stream
    with uploaded(host, np.empty_like(host), np.empty_like(host)) as (given, ordered, places), Plan("sort") as plan:
        ops.record_sort(plan, given, sorted_keys=ordered, sorted_values=places)
        mine = replay_milliseconds(plan.replay)
        expected = np.argsort(host, kind="stable")
        assert np.array_equal(places.numpy(), expected)
        assert np.array_equal(ordered.numpy(), host[expected])
    for name, ms in theirs.items():
        print(f"\n{name}: {ms:.3f} ms, {PAIRS / ms * 1e-6:.1f} G pairs/s", end="")
    best = min(theirs.values())
    print(f"\nours: {mine:.3f} ms, {PAIRS / mine * 1e-6:.1f} G pairs/s: {best / mine:.2f}x of the fastest")
    assert mine <= best / 0.5


@pytest.mark.bench
def test_scan_and_sum_run_at_the_speed_of_a_copy(peers: tuple[Any, Any]) -> None:
    torch, _ = peers
    host = np.random.default_rng(2).normal(size=LENGTH).astype(np.float32)
    x = torch.tensor(host, device="cuda")
    y = torch.empty_like(x)
    rates = {
        "torch copy": 8 / torch_milliseconds(torch, lambda: y.copy_(x)),
        "torch cumsum": 8 / torch_milliseconds(torch, lambda: torch.cumsum(x, 0, out=y)),
        "torch sum": 4 / torch_milliseconds(torch, lambda: torch.sum(x)),
    }
    with uploaded(host) as (source,), Tensor.empty(LENGTH) as out, Tensor.empty(()) as total:
        plans = {"copy": Plan("copy"), "cumsum": Plan("cumsum"), "sum": Plan("sum")}
        plans["copy"].dispatch(Kernel(COPY, "main", "copy", trusted=True), LENGTH // 4, x=source, y=out)
        ops.record_scan(plans["cumsum"], "sum", source, out)
        ops.record_reduce(plans["sum"], "sum", source, total)
        for name, plan in plans.items():
            rates[f"our {name}"] = (4 if name == "sum" else 8) / replay_milliseconds(plan.replay)
            if name == "cumsum":
                exact = np.cumsum(host, dtype=np.float64)
                assert np.abs(out.numpy() - exact).max() < 1e-5 * np.abs(host).sum(dtype=np.float64)
            plan.close()
        assert abs(total.item() - host.sum(dtype=np.float64)) < 1e-6 * np.abs(host).sum(dtype=np.float64)
    copy = max(rates["torch copy"], rates["our copy"])
    for name, rate in rates.items():
        print(f"\n{name}: {rate * LENGTH * 1e-6:.0f} GB/s, {rate / copy:.2f}x of a copy", end="")
    assert rates["our sum"] >= 0.85 * copy
    assert rates["our cumsum"] >= 0.8 * copy
