"""`Inbox`: events of a browser that wait for the next frame."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from .events import Focus, InputEvent, Pointer

MOST_EVENTS = 2000  # that wait for a frame: more are forgotten


class Inbox:
    """`post` is for any thread, and calls `wake` in it; `take` is for the thread of the GPU."""

    def __init__(self, wake: Callable[[], None]):
        self._wake = wake
        self._events: deque[InputEvent] = deque()
        self._lock = threading.Lock()

    def post(self, event: InputEvent) -> None:
        """Queue an event for the next frame. Of movements in a row the last one counts."""
        with self._lock:
            last = self._events[-1] if self._events else None
            if type(event) is Pointer and type(last) is Pointer:
                self._events[-1] = event
            elif len(self._events) < MOST_EVENTS or isinstance(event, Focus):
                self._events.append(event)
        self._wake()

    def take(self) -> deque[InputEvent]:
        """What waits, in its order."""
        with self._lock:
            events, self._events = self._events, deque()
        return events
