"""A million material points on a grid of 128³: a step of ours and of Taichi's CUDA backend, on one GPU in one run.

Ours sorts particles into blocks and adds in whole numbers, so that it gives the same bits each time. Floor on an H100:
a particle's 100 bytes read and written twice, 400 MB at 3 TB/s, 0.13 ms.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

import vertigrad
from vertigrad.models.physics.mpm import TOGETHER, Mpm, Params

from .taichi_mpm import DT, EDGE, GRID, program

COUNT = 1_000_000
WARM, STEPS, ROUNDS = 1000, 200, 5
START = {"water_at": (-0.2, 0.2, -0.2), "jelly_at": (0.2, 0.25, 0.2), "snow_at": (-0.15, 0.65, 0.1)}


def milliseconds(take: Callable[[int], object], wait: Callable[[], object]) -> float:
    """Of a step, the shortest of some rounds after a warm-up; `take` takes so many."""
    take(WARM)
    times = []
    for _ in range(ROUNDS):
        wait()
        begin = time.perf_counter()
        take(STEPS)
        wait()
        times.append((time.perf_counter() - begin) / STEPS * 1e3)
    return min(times)


@pytest.mark.bench
def test_a_step_takes_no_longer_than_taichis() -> None:
    taichi = pytest.importorskip("taichi", reason="compares with Taichi on CUDA, which is not installed here")
    gpu = vertigrad.gpu()
    if gpu.adapter.kind != "discrete":
        pytest.skip(f"compares two programs on one NVIDIA GPU; this is {gpu.adapter}")
    sizes = dict.fromkeys(("water_size", "jelly_size", "snow_size"), (EDGE,) * 3)
    params = Params(
        box=(1.0, 1.0, 1.0), resolution=GRID - 7, count=COUNT, time_step=DT, snow="box", sand="none", **sizes, **START
    )
    model = Mpm("bench", params, {}, 1)
    fields = model._fields(DT)

    def ours(steps: int) -> None:
        for _ in range(steps // TOGETHER):
            model._steps.replay(**fields)

    mine = milliseconds(ours, gpu.wait_idle)
    model.close()
    taichi.init(arch=taichi.cuda, default_fp=taichi.f32)
    step, _ = program(taichi, COUNT)
    theirs = milliseconds(lambda steps: [step() for _ in range(steps)], taichi.sync)
    print(f"\n{COUNT:,} particles on {GRID}³: ours {mine:.3f} ms a step, Taichi {theirs:.3f} ms, {theirs / mine:.2f}x")
    assert mine <= theirs
