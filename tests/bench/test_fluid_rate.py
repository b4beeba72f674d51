"""Steps per second of the fluid with a million particles, against its floor on the same GPU.

Floor: each of its passes reads the list of neighbors once, 7.2 GB a step in all, at the speed of a copy.
"""

from __future__ import annotations

import time

import numpy as np
import pytest

import vertigrad
from vertigrad.models.physics.fluid import Fluid, Params

from .cuda import copy_bandwidth
from .results import Result, report

COUNT, LISTS = 1_000_000, 7.2e9  # particles; bytes of lists that a step reads
LEAST = 0.43  # of the floor


@pytest.mark.bench
def test_a_step_of_a_million_particles_is_near_its_floor() -> None:
    gpu = vertigrad.gpu()
    if gpu.adapter.kind != "discrete":
        pytest.skip(f"needs a GPU of its own; this is {gpu.adapter}")
    work = {"count": COUNT, "iterations": 8, "tolerance": 0.0}  # of the pressure solve always as much
    pillar = {"body": "pillar", "body_center": (2.2, 0.45, 0.6)}
    params = Params(tank=(3.2, 2.0, 1.2), column=(1.2, 1.2, 1.2), **work, **pillar)
    model = Fluid("bench", params, {}, 1)
    rates = []
    for _ in range(4):  # at rest, falling, splashing
        gpu.wait_idle()
        begin = time.perf_counter()
        for _ in range(100):
            model._step.replay(dt=model.time_step, **model._fields())
        gpu.wait_idle()
        rates.append(100 / (time.perf_counter() - begin))
    count = model.outputs()["position"].shape[0]
    finite = np.isfinite(model.outputs()["position"].numpy()).all()
    model.close()
    assert finite
    peers = {"floor": copy_bandwidth() * 1e9 / LISTS}
    report(Result("fluid", f"{count:,} particles, splashing", "steps/s", min(rates[1:]), peers, "floor", LEAST))
