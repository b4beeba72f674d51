"""`EventPump`: polls the window's events while the script computes, so that the desktop sees a program that responds.

Why this way, and what it cannot do: docs/decisions/0128-events-are-polled-between-bytecodes.md.
"""

from __future__ import annotations

import _thread
import ctypes
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

EVERY = 0.1  # seconds between two polls of a window that shows no frames


class EventPump:
    """Calls `poll` in the main thread, between two bytecodes, whenever no frame was shown for `EVERY` seconds.

    One at a time, since there is one window. In another thread than the main one it does nothing: window systems take
    events in that thread only.
    """

    def __init__(self, poll: Callable[[], object]):
        global _current
        self.polls = 0  # how often it did
        self._poll = poll
        self._busy = self._requested = self._interrupted = False
        self._last = time.monotonic()
        self._stop = threading.Event()
        if threading.current_thread() is threading.main_thread():
            _current = self
            threading.Thread(target=self._watch, name="vertigrad events", daemon=True).start()

    @contextmanager
    def frame(self) -> Iterator[None]:
        """While a frame is made, which polls itself."""
        self._busy = True
        try:
            yield
        finally:
            self._busy, self._last = False, time.monotonic()

    def close(self) -> None:
        """End it. Idempotent."""
        global _current
        self._stop.set()
        if _current is self:
            _current = None

    def _watch(self) -> None:
        while not self._stop.wait(EVERY):
            if self._interrupted:
                self._interrupted = False
                _thread.interrupt_main()
            elif not self._busy and not self._requested and time.monotonic() - self._last >= EVERY:
                self._requested = True
                ctypes.pythonapi.Py_AddPendingCall(_call, None)

    def run(self) -> None:
        """What the main thread was asked for."""
        try:
            self._requested = False
            if self._busy or self._stop.is_set():
                return
            with self.frame():
                self.polls += 1
                self._poll()
        except KeyboardInterrupt:  # cannot be raised from here: the other thread raises it in the script's own code
            self._interrupted = True


_current: EventPump | None = None


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
def _call(_: object) -> int:
    if _current is not None:
        _current.run()
    return 0
