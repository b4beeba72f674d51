"""A million material points on a grid of 128³: a step of ours and of Taichi's CUDA backend, on one GPU in one run.

Ours sorts particles into blocks and adds in integers, so that it gives the same bits each time. In both the snow
falls freely at first, which is checked. Floor on an H200: a particle's 100 bytes read and written twice, 400 MB at
4.3 TB/s, 0.09 ms.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import vertigrad
from vertigrad.models.physics.mpm import TOGETHER, Mpm, Params

from .results import Result, report
from .taichi_mpm import DT, EDGE, GRID, program

COUNT = 1_000_000
FALLING, WARM, STEPS, ROUNDS = 800, 200, 200, 5
GRAVITY = {"ours": 9.81, "taichi": 9.8}
SNOW = 2
LEAST = 4.2  # times the speed of Taichi
START = {"water_center": (-0.2, 0.2, -0.2), "jelly_center": (0.2, 0.25, 0.2), "snow_center": (-0.15, 0.65, 0.1)}


def assert_snow_falls(gravity: float, kinds: np.ndarray, before: np.ndarray, after: np.ndarray) -> None:
    """Fail unless everything is finite and the snow fell by g t² / 2 on average."""
    assert np.isfinite(after).all()
    fell = (before - after)[kinds == SNOW, 1].mean()
    assert fell == pytest.approx(0.5 * gravity * (FALLING * DT) ** 2, rel=0.01)


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


def ours() -> float:
    sizes = dict.fromkeys(("water_size", "jelly_size", "snow_size"), (EDGE,) * 3)
    params = Params(
        box=(1.0, 1.0, 1.0), resolution=GRID - 7, count=COUNT, time_step=DT, snow="box", sand="none", **sizes, **START
    )
    model = Mpm("bench", params, {}, 1)
    assert model.time_step == DT
    fields = model._fields(DT)

    def take(steps: int) -> None:
        for _ in range(steps // TOGETHER):
            model._steps.replay(**fields)

    before = model.outputs()["position"].numpy()
    take(FALLING)
    kinds = model.outputs()["material"].numpy()
    assert_snow_falls(GRAVITY["ours"], kinds, before, model.outputs()["position"].numpy())
    mine = milliseconds(take, vertigrad.gpu().wait_idle)
    assert np.isfinite(model.outputs()["position"].numpy()).all()
    model.close()
    return mine


def theirs(taichi: Any) -> float:
    taichi.init(arch=taichi.cuda, default_fp=taichi.f32)
    step, positions, kinds = program(taichi, COUNT)

    def take(steps: int) -> None:
        for _ in range(steps):
            step()

    before = positions.to_numpy()
    take(FALLING)
    assert_snow_falls(GRAVITY["taichi"], kinds.to_numpy(), before, positions.to_numpy())
    other = milliseconds(take, taichi.sync)
    assert np.isfinite(positions.to_numpy()).all()
    return other


@pytest.mark.bench
def test_a_step_is_several_times_as_fast_as_taichis() -> None:
    taichi = pytest.importorskip("taichi", reason="compares with Taichi on CUDA, which is not installed here")
    if vertigrad.gpu().adapter.kind != "discrete":
        pytest.skip(f"compares two programs on one NVIDIA GPU; this is {vertigrad.gpu().adapter}")
    mine = ours()
    peers = {"Taichi CUDA": theirs(taichi)}
    report(Result("material points", f"{COUNT:,} particles on {GRID}³", "ms", mine, peers, "Taichi CUDA", LEAST))
