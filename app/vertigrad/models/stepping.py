"""`FixedStep`: physical steps of one length, whatever the length of the frames."""

from __future__ import annotations

import math


class FixedStep:
    """Cuts the time of frames into steps of `length` seconds; what is left over is for the next frame.

    `rest` [s] belongs to what `Model.numbers` says. Of a frame in which more than `most` steps are due the time beyond
    them is dropped: the model is slower than asked for then, and no less right.
    """

    def __init__(self, most: int = 64):
        self.most = most
        self.rest = 0.0

    def due(self, dt: float, length: float) -> int:
        """How many steps are to be taken in a frame of `dt` seconds."""
        time = self.rest + dt
        steps = math.floor(time / length * (1.0 + 1e-9))  # a frame of exactly n steps is to have n of them
        self.rest = max(0.0, time - steps * length)
        if steps > self.most:
            self.rest = 0.0
        return min(steps, self.most)
