"""Numbers that were measured one after another: how they are kept, and what is said about them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

_FIRST = 256  # numbers for which there is room at first


class Series:
    """The last `capacity` numbers that were appended, oldest first, as one contiguous array of float64."""

    __slots__ = ("_begin", "_buffer", "_end", "capacity")

    def __init__(self, capacity: int):
        self.capacity = capacity
        self._buffer = np.empty(min(2 * capacity, _FIRST))
        self._begin = self._end = 0

    @property
    def values(self) -> np.ndarray:
        """What is kept: a view, which holds until the next `append`."""
        return self._buffer[self._begin : self._end]

    def append(self, value: float) -> None:
        """Add a number; the oldest one goes if there are too many."""
        if self._end == len(self._buffer):
            self._make_room()
        self._buffer[self._end] = value
        self._end += 1
        self._begin = max(self._begin, self._end - self.capacity)

    def shorten(self, length: int) -> None:
        """Drop the newest numbers until at most `length` are left."""
        self._end = min(self._end, self._begin + max(length, 0))

    def __len__(self) -> int:
        return self._end - self._begin

    def __iter__(self) -> Iterator[float]:
        return iter(self.values.tolist())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype)

    def _make_room(self) -> None:
        """To the front of the buffer, or of one twice as large: each number is moved once or twice, on average."""
        kept = self.values
        if 2 * len(kept) > len(self._buffer):
            self._buffer = np.empty(min(2 * len(self._buffer), 2 * self.capacity))
        self._buffer[: len(kept)] = kept
        self._begin, self._end = 0, len(kept)


class TimeSeries:
    """A number over simulated time: two series of one length, `times` [s] rising."""

    __slots__ = ("times", "values")

    def __init__(self, capacity: int):
        self.times, self.values = Series(capacity), Series(capacity)

    def append(self, time: float, value: float) -> None:
        """Add the value at `time`. Where time went back, what was noted from there on is dropped."""
        kept = int(np.searchsorted(self.times.values, time))
        for series in (self.times, self.values):
            series.shorten(kept)
        self.times.append(time)
        self.values.append(value)

    def __len__(self) -> int:
        return len(self.times)


def statistics(values: Collection[float] | Series) -> dict[str, float] | None:
    """Mean, median, 95th and 99th percentile; None if nothing was measured."""
    if not len(values):
        return None
    sample = values.values if isinstance(values, Series) else np.fromiter(values, float)
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
