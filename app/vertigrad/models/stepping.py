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
    """Cuts the time of frames into steps of `length` seconds; what is left over is for the next frame.

    `rest` [s] belongs to what `Model.numbers` says. Of a frame in which more than `most` steps are due the time beyond
    them is dropped, unless within `no_dropped_time`: the model is slower than asked for then, and no less right.
    `dropped` is the share of the last frame's time that was.
    """

    def __init__(self, most: int = 64):
        self.most = most
        self.rest = 0.0
        self.dropped = 0.0

    def due(self, dt: float, length: float) -> int:
        """How many steps are to be taken in a frame of `dt` seconds."""
        time = self.rest + dt
        steps = math.floor(time / length * (1.0 + 1e-9))  # a frame of exactly n steps is to have n of them
        self.rest = max(0.0, time - steps * length)
        taken = self._taken(steps, dt)
        if taken < steps:
            self.rest = 0.0
        return taken

    def divide(self, dt: float, longest: float) -> tuple[int, float]:
        """The number and the length of equal steps, none longer than `longest`, that make up a frame of `dt` seconds.

        Nothing is left over, so that what is drawn is of the frame's end. `dt` may be negative.
        """
        steps = max(1, math.ceil(abs(dt) / longest * (1.0 - 1e-9)))
        return self._taken(steps, abs(dt)), dt / steps

    def _taken(self, steps: int, dt: float) -> int:
        taken = min(steps, self.most) if _drops.get() else steps
        if dt > 0.0:
            self.dropped = 1.0 - taken / steps if steps else 0.0
        return taken
