"""`FrameLimiter`: delays frames to hold a limit of frames per second."""

from __future__ import annotations

import time
from collections.abc import Callable

SHORT = 1e-4  # seconds that are not worth a sleep


class FrameLimiter:
    """Call `wait` before each frame. A late frame does not shorten the next ones."""

    def __init__(self, now: Callable[[], float] = time.perf_counter):
        self._now = now
        self.held_back = False  # whether the last frame had to wait
        self._due = 0.0

    def wait(self, fps: float, sleep: Callable[[float], object], stop: Callable[[], bool] = lambda: False) -> None:
        """Sleep until the next frame is due, for `fps` frames per second; not at all if that is 0.

        `sleep` may return early, and is called repeatedly, until `stop` returns true or the frame is due.
        """
        self.held_back = False
        if fps > 0.0:
            period = 1.0 / fps
            self._due = min(self._due, self._now() + period)  # a slower limit from before has no effect
            while (left := self._due - self._now()) > SHORT and not stop():
                self.held_back = True
                sleep(left)
            late = self._now() - self._due > period
            self._due = (self._now() if late else self._due) + period
