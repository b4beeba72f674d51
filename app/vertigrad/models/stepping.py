"""How models cut the time of frames into physical steps: `FixedStep`s of one length, or `substeps` of equal length."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_drops: ContextVar[bool] = ContextVar("_drops", default=True)


@contextmanager
def no_dropped_time() -> Iterator[None]:
    """Let every step inside take all of its time, however long that takes: for what is recorded and not watched."""
    token = _drops.set(False)
    try:
        yield
    finally:
        _drops.reset(token)


class FixedStep:
    """Divides the time of frames into steps of `time_step` seconds; what is left over is for the next frame.

    `remainder` [s] is part of `Model.scalar_state`, under `name`. At most `max_steps` steps are taken per frame, and
    time beyond them is dropped, unless within `no_dropped_time`: the simulation is then slower than requested.
    `dropped` is the fraction of the last frame's time that was dropped.
    """

    def __init__(self, max_steps: int = 64, name: str = "remainder"):
        self.max_steps, self.name = max_steps, name
        self.remainder = 0.0
        self.dropped = 0.0

    def due(self, dt: float, time_step: float) -> int:
        """How many steps are to be taken in `dt` seconds."""
        time = self.remainder + dt
        steps = math.floor(time / time_step * (1.0 + 1e-9))  # a frame of exactly n steps is to have n of them
        self.remainder = max(0.0, time - steps * time_step)
        taken = self._taken(steps, dt)
        if taken < steps:
            self.remainder = 0.0
        return taken

    def divide(self, dt: float, max_time_step: float) -> tuple[int, float]:
        """The number and the length of equal steps, none longer than `max_time_step`, that make up `dt` seconds.

        Nothing is left over, so that what is drawn is of the frame's end. `dt` may be negative.
        """
        steps = max(1, math.ceil(abs(dt) / max_time_step * (1.0 - 1e-9)))
        return self._taken(steps, abs(dt)), dt / steps

    def _taken(self, steps: int, dt: float) -> int:
        taken = min(steps, self.max_steps) if _drops.get() else steps
        if dt > 0.0:
            self.dropped = 1.0 - taken / steps if steps else 0.0
        return taken
