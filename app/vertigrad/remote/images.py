"""`Images`: the newest image, for whoever wants it; older ones are forgotten."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Image(NamedTuple):
    """An image, (height, width, 4) u8 RGBA; `number` counts those that differ from the one before, `time` is when it
    arrived, by `time.monotonic`, and `period` the seconds since the one before. `at_rest`: nothing moves, but
    for numbers in panels.
    """

    number: int
    pixels: np.ndarray
    time: float
    period: float
    at_rest: bool


class Images:
    """Images go from the thread of the GPU to others. `wanted` is how many viewers have no use for the newest yet.

    `subscribe` names functions that are called, in the thread of the GPU, when there is another image.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._newest: Image | None = None
        self._subscribers: dict[object, Callable[[], object]] = {}
        self._busy: set[object] = set()

    @property
    def newest(self) -> Image | None:
        """The newest image."""
        return self._newest

    @property
    def wanted(self) -> bool:
        """Whether anybody is ready for an image."""
        with self._lock:
            return any(one not in self._busy for one in self._subscribers)

    def subscribe(self, who: object, then: Callable[[], object]) -> None:
        """Call `then` at each image, until `unsubscribe`."""
        with self._lock:
            self._subscribers[who] = then

    def unsubscribe(self, who: object) -> None:
        """`who` wants no more images."""
        with self._lock:
            self._subscribers.pop(who, None)
            self._busy.discard(who)

    def set_busy(self, who: object, busy: bool) -> None:
        """Whether `who` still works on an image: as long as all do, none is read back."""
        with self._lock:
            (self._busy.add if busy else self._busy.discard)(who)

    def put(self, pixels: np.ndarray, at_rest: bool = False) -> None:
        """Another image, which nobody writes to any more; one that is the same as the last is forgotten."""
        newest = self._newest
        if newest is not None and np.array_equal(newest.pixels, pixels):
            return
        with self._lock:
            now = time.monotonic()
            period = now - newest.time if newest else 0.0
            self._newest = Image(newest.number + 1 if newest else 1, pixels, now, period, at_rest)
            subscribers = list(self._subscribers.values())
        for then in subscribers:
            then()
