"""`Tempo`: holds pictures back, so that there are no more of them in a second than wanted."""

from __future__ import annotations

import time
from collections.abc import Callable

SHORT = 1e-4  # seconds that are not worth a sleep


class Tempo:
    """Call `wait` before each picture. One that is late is not made up for."""

    def __init__(self, now: Callable[[], float] = time.perf_counter):
        self._now = now
        self.held_back = False  # whether the last picture had to wait
        self._due = 0.0

    def wait(self, rate: float, sleep: Callable[[float], object], stop: Callable[[], bool] = lambda: False) -> None:
        """Sleep until the next picture is due, for `rate` of them in a second; not at all if that is 0.

        `sleep` may return early, and is called again; unless `stop` says that there is no need to wait any longer.
        """
        self.held_back = False
        if rate > 0.0:
            period = 1.0 / rate
            self._due = min(self._due, self._now() + period)  # a rate that was slower does not hold on
            while (left := self._due - self._now()) > SHORT and not stop():
                self.held_back = True
                sleep(left)
            late = self._now() - self._due > period
            self._due = (self._now() if late else self._due) + period
