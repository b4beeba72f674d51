"""Memory of the process after steps: none is retained, on the adapter that may compile kernels in each dispatch."""

from __future__ import annotations

import sys

import pytest

from vertigrad import resources
from vertigrad.gpu import Gpu
from vertigrad.session import Session
from vertigrad.session.commands import Play

from ..renderer.layers.test_copies import SCENES, smaller_sizes
from ..renderer.layers.test_memory import RETAINED, resident

STEPS = 12
ROUNDS = 4


@pytest.mark.turns(15)
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux what a process has in memory")
@pytest.mark.parametrize("name", SCENES)
def test_no_kernel_is_compiled_in_every_step(steady: Gpu, name: str) -> None:
    """A condition of uniforms alone costs 0.6 MB per step, see docs/decisions/0074."""
    with Session(steady, resources.path("scenes", f"{name}.toml"), smaller_sizes(name)) as session:

        def frames() -> None:
            for _ in range(STEPS):
                with steady.frames.frame():
                    session.apply()
                    session.advance()
                steady.wait_idle()

        session.post(Play(True))
        frames()
        for _ in range(ROUNDS):  # the first ones may retain what is retained once
            before = resident()
            frames()
            retained = (resident() - before) / STEPS
            if retained < RETAINED:
                break
        assert retained < RETAINED
