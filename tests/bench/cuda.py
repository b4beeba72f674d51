"""Times of kernels on one NVIDIA GPU: ours, and PyTorch's with its best settings."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import vertigrad
from vertigrad import Tensor
from vertigrad.gpu import Kernel, Plan

ROUNDS = 7
LEAST = 0.02  # seconds of one measurement
PRECISIONS = ("f32", "TF32", "f16")

COPY = """
@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = id.y * (num_workgroups.x * 256u) + id.x;
    y[i] = x[i];
}
"""


def torch_on_the_same_gpu() -> Any:
    """PyTorch, if it has CUDA and our adapter is its GPU; skips the test otherwise."""
    torch = pytest.importorskip("torch", reason="compares with CUDA through PyTorch, which is not installed here")
    if not torch.cuda.is_available():
        pytest.skip("compares with CUDA; PyTorch sees no CUDA device here")
    if vertigrad.gpu().adapter.kind != "discrete":
        pytest.skip(f"compares two programs on one NVIDIA GPU; this is {vertigrad.gpu().adapter}")
    torch.backends.cudnn.benchmark = True
    _allow_tf32(torch, False)
    return torch


def _allow_tf32(torch: Any, on: bool) -> None:
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = on


@contextmanager
def precision(torch: Any, name: str) -> Iterator[None]:
    """Products inside in TF32, if that is the name; storage in f16 is up to the caller."""
    _allow_tf32(torch, name == "TF32")
    try:
        yield
    finally:
        _allow_tf32(torch, False)


def graphed(torch: Any, call: Callable[[], object]) -> Callable[[], None]:
    """A function that replays `call` from a CUDA graph, after warming it up on a stream of its own."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


def torch_milliseconds(torch: Any, call: Callable[[], object]) -> float:
    """Median of several rounds of calls between two events, after a warm-up."""
    for _ in range(5):
        call()
    torch.cuda.synchronize()
    start = time.perf_counter()
    call()
    torch.cuda.synchronize()
    count = max(5, math.ceil(LEAST / max(time.perf_counter() - start, 1e-6)))
    times = []
    for _ in range(ROUNDS):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(count):
            call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / count)
    return float(np.median(times))


def torch_variants(
    torch: Any, name: str, function: Callable[..., Any], *inputs: Any, tuned: bool = False
) -> dict[str, float]:
    """Milliseconds of a function of tensors in the precision `name`: eager and compiled, each called and from a graph.

    `tuned` lets the compiler try several kernels ("max-autotune"), which takes a minute.
    """
    torch.compiler.reset()
    variants = {}
    with precision(torch, name):
        compiled = torch.compile(function, mode="max-autotune-no-cudagraphs" if tuned else "default")
        for variant, run in (("eager", function), ("compiled", compiled)):
            variants[variant] = torch_milliseconds(torch, lambda run=run: run(*inputs))
            variants[f"{variant}, graph"] = torch_milliseconds(torch, graphed(torch, lambda run=run: run(*inputs)))
    print(f"\ntorch {name}: {', '.join(f'{variant} {ms:.4g} ms' for variant, ms in variants.items())}", end="")
    return variants


def our_milliseconds(record: Callable[[], object], copies: int = 20) -> float:
    """Of one call, from a plan of copies of it."""
    with Plan("bench") as plan:
        with plan.recording():
            for _ in range(copies):
                record()
        return replay_milliseconds(plan.replay) / copies


def replay_milliseconds(replay: Callable[[], object]) -> float:
    """Median wall time of many replays minus few: the cost of waiting cancels."""
    gpu = vertigrad.gpu()

    def seconds(replays: int) -> float:
        gpu.sync()
        start = time.perf_counter()
        for _ in range(replays):
            replay()
        gpu.sync()
        return time.perf_counter() - start

    seconds(2)
    more = math.ceil(LEAST / seconds(1))
    return float(np.median([(seconds(1 + more) - seconds(1)) / more for _ in range(ROUNDS)])) * 1e3


def copy_bandwidth(length: int = 1 << 27) -> float:
    """GB/s, read and written together, of a copy of so many f32 by a kernel of ours."""
    with Tensor.zeros(length) as source, Tensor.empty(length) as out, Plan("copy") as plan:
        plan.dispatch(Kernel(COPY, "main", "copy", trusted=True), length // 4, x=source, y=out)
        return 8e-6 * length / replay_milliseconds(plan.replay)
