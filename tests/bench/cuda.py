"""Times of kernels on one NVIDIA GPU: ours, and what PyTorch runs there."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import vertigrad
from vertigrad.gpu import Plan

ROUNDS = 7
LEAST = 0.02  # seconds of one measurement


def torch_on_the_same_gpu() -> Any:
    """PyTorch, if it has CUDA and our adapter is its GPU; skips the test otherwise."""
    torch = pytest.importorskip("torch", reason="compares with CUDA through PyTorch, which is not installed here")
    if not torch.cuda.is_available():
        pytest.skip("compares with CUDA; PyTorch sees no CUDA device here")
    if vertigrad.gpu().adapter.kind != "discrete":
        pytest.skip(f"compares two programs on one NVIDIA GPU; this is {vertigrad.gpu().adapter}")
    torch.backends.cuda.matmul.allow_tf32 = False
    return torch


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


def our_milliseconds(record: Callable[[], object], copies: int = 20) -> float:
    """Of one call, from a plan of copies of it."""
    with Plan("bench") as plan:
        with plan.recording():
            for _ in range(copies):
                record()
        return replay_milliseconds(plan.replay) / copies


def replay_milliseconds(replay: Callable[[], object]) -> float:
    """Median from the wall clock of many replays less few: what waiting costs cancels."""
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
