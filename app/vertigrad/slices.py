"""`Sliced`: long work of one thread, a part at a time, so that the thread can draw frames in between."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import Generic, TypeVar

from greenlet import getcurrent, greenlet

from .progress import Cancelled, Progress

T = TypeVar("T")

LEAST, MOST = 0.012, 0.1  # seconds of a slice, which takes as long as what is done between slices


class Sliced(Generic[T]):
    """Work that is interrupted where it reports its progress. It has a stack and context variables of its own.

    `progress` says how far it is. Close it to cancel it: then it raises `Cancelled` where it was interrupted.
    """

    def __init__(self, work: Callable[[], T]):
        self.progress = Progress(self._pause)
        self.result: T | None = None  # of the work, once it has ended
        self._work = work
        self._until = self._ended = time.perf_counter()  # of the slice now, and of the one before
        self._greenlet = greenlet(self._run)
        self._greenlet.gr_context = copy_context()

    def proceed(self) -> bool:
        """Work until the first report after a slice's time; returns whether all is done. Raises what it raises."""
        now = time.perf_counter()
        self._until = now + min(max(now - self._ended, LEAST), MOST)
        self._greenlet.parent = getcurrent()
        self._greenlet.switch()
        self._ended = time.perf_counter()
        return self._greenlet.dead

    def close(self) -> None:
        """Let it end here, unless it has ended. Idempotent."""
        self.progress.cancelled = True
        if self._greenlet and not self._greenlet.dead:
            self._greenlet.parent = getcurrent()
            with suppress(Cancelled):
                self._greenlet.throw(Cancelled)

    def _run(self) -> None:
        with self.progress.followed():
            self.result = self._work()

    def _pause(self, waits: bool) -> None:
        """Go on with whoever called `proceed`, if the slice is over, or nothing can be done before others have."""
        if waits or time.perf_counter() >= self._until:
            assert self._greenlet.parent is not None
            self._greenlet.parent.switch()
