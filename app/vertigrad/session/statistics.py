"""Series of measured numbers: the latest of them, over time, and statistics of them."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Collection, Mapping

import numpy as np


class Series(deque[float]):
    """The last `capacity` numbers that were appended, oldest first."""

    def __init__(self, capacity: int):
        super().__init__(maxlen=capacity)

    @property
    def values(self) -> np.ndarray:
        """All of them, as a new array of float64."""
        return np.fromiter(self, float, len(self))

    def newest(self, count: int) -> np.ndarray:
        """The last `count` of them, or all if there are fewer, oldest first, as a new array of float64."""
        count = min(count, len(self))
        return np.fromiter(itertools.islice(reversed(self), count), float, count)[::-1].copy()


class TimeSeries:
    """A number over simulated time: two series of one length, `times` [s] rising."""

    __slots__ = ("times", "values")

    def __init__(self, capacity: int):
        self.times, self.values = Series(capacity), Series(capacity)

    def append(self, time: float, value: float) -> None:
        """Add the value at `time`; values of this and later times are dropped, as after rewinding."""
        while self.times and self.times[-1] >= time:
            self.times.pop()
            self.values.pop()
        self.times.append(time)
        self.values.append(value)

    def __len__(self) -> int:
        return len(self.times)


def statistics(values: Collection[float]) -> dict[str, float] | None:
    """Mean, median, 95th and 99th percentile; None if nothing was measured."""
    if not values:
        return None
    sample = np.fromiter(values, float, len(values))
    p50, p95, p99 = np.percentile(sample, [50, 95, 99])
    return {"mean": float(np.mean(sample)), "p50": float(p50), "p95": float(p95), "p99": float(p99)}


class GpuTimes:
    """Milliseconds on the GPU: of computing and drawing, and of each of the timer's groups."""

    def __init__(self, capacity: int, latest: Mapping[str, float]):
        """`latest` is what the timer has already: times of an earlier frame."""
        self._capacity, self._taken = capacity, latest
        self.compute_ms, self.draw_ms = Series(capacity), Series(capacity)
        self.groups: dict[str, Series] = {}

    def take(self, latest: Mapping[str, float]) -> bool:
        """Note the times that arrived last, once; whether they are new."""
        if latest is self._taken:
            return False
        self._taken = latest
        self.compute_ms.append(sum(ms for group, ms in latest.items() if computes(group)))
        self.draw_ms.append(sum(ms for group, ms in latest.items() if not computes(group)))
        for group, ms in latest.items():
            if group not in self.groups:
                self.groups[group] = Series(self._capacity)
            self.groups[group].append(ms)
        return True


def computes(group: str) -> bool:
    """Whether a group of the timer is a model's plan, such as "galaxy.step", or dispatches outside of any."""
    return "." in group or group == "compute"
