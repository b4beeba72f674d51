"""How many steps a second the fluid takes with a million particles; on a GPU of its own.

Floor on an H100: each of its passes reads the list of neighbours once, 2.4 ms in all at the bandwidth of a copy.
"""

from __future__ import annotations

import time

import numpy as np
import pytest

import vertigrad
from vertigrad.models.physics.fluid import Fluid, Params

COUNT, LEAST = 1_000_000, 60.0


@pytest.mark.bench
def test_a_million_particles_take_sixty_steps_a_second() -> None:
    gpu = vertigrad.gpu()
    if gpu.adapter.kind != "discrete":
        pytest.skip(f"needs a GPU of its own; this is {gpu.adapter}")
    params = Params(count=COUNT, tank=(3.2, 2.0, 1.2), column=(1.2, 1.2, 1.2), body="pillar", body_at=(2.2, 0.45, 0.6))
    model = Fluid("bench", params, {}, 1)
    rates = []
    for _ in range(4):  # at rest, falling, splashing
        gpu.wait_idle()
        begin = time.perf_counter()
        for _ in range(100):
            model._step.replay(dt=model.length, **model._fields())
        gpu.wait_idle()
        rates.append(100 / (time.perf_counter() - begin))
    count = model.outputs()["position"].shape[0]
    finite = np.isfinite(model.outputs()["position"].numpy()).all()
    model.close()
    print(f"\n{count:,} particles: {', '.join(f'{rate:.0f}' for rate in rates)} steps a second")
    assert finite and min(rates[1:]) >= LEAST
