"""`Reader`: footage read ahead of time, by a thread of its own."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Generator

import numpy as np

from ...errors import InputError
from .footage import Footage

AHEAD = 64 << 20  # bytes of frames that may wait to be taken, but two frames at least
MOST = 16  # frames, however small they are
WITHIN_REACH = 32  # frames: farther ahead than this it is sooner there by seeking


class Reader:
    """Hands out frames in their order, over and over; `close` it.

    The thread waits while enough frames wait to be taken. What goes wrong in it is raised by the next `take`.
    """

    def __init__(self, footage: Footage):
        self._footage = footage
        self._room = max(2, min(MOST, AHEAD // footage.nbytes))
        self._changed = threading.Condition()
        self._ready: deque[tuple[int, np.ndarray]] = deque()
        self._due = 0  # the number of the frame that can be taken next
        self._jump: int | None = 0  # where the thread is to go on
        self._arrived = True  # whether anything came since it was sent there
        self._error: Exception | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="reading ahead", daemon=True)
        self._thread.start()

    def take(self, number: int, wait: bool) -> list[tuple[int, np.ndarray]]:
        """Frames with their numbers, those that come before `number`, and last that one.

        Without `wait` those that are there: perhaps none. Raises `InputError` for a file that cannot be read.
        """
        taken: list[tuple[int, np.ndarray]] = []
        with self._changed:
            if wait and self._is_far(number):
                self._go_to(number)
            while not self._take_ready(number, taken):
                if self._error is not None:
                    raise self._error
                if wait:
                    self._changed.wait()
                    continue
                if self._arrived and self._is_far(number):
                    self._go_to(number)
                break
        return taken

    def stop(self) -> None:
        """Read no more: nothing will be taken. The thread ends soon, and is not waited for."""
        with self._changed:
            self._closed = True
            self._ready.clear()
            self._changed.notify_all()

    def close(self) -> None:
        """End the thread. Idempotent."""
        self.stop()
        self._thread.join()

    def _take_ready(self, number: int, taken: list[tuple[int, np.ndarray]]) -> bool:
        """Take what is there up to `number`; whether that was among it."""
        while self._ready:
            taken.append(self._ready.popleft())
            self._due = (taken[-1][0] + 1) % self._footage.count
            self._changed.notify_all()
            if taken[-1][0] == number:
                return True
        return False

    def _is_far(self, number: int) -> bool:
        return (number - self._due) % self._footage.count >= WITHIN_REACH

    def _go_to(self, number: int) -> None:
        self._ready.clear()
        self._due = self._jump = number
        self._arrived = False
        self._changed.notify_all()

    def _work(self) -> None:
        try:
            self._read()
        except Exception as error:  # whatever it is, it is raised where it is reported
            failure = error if isinstance(error, InputError) else InputError(f"reading ahead failed: {error!r}")
            with self._changed:
                self._error = failure
                self._changed.notify_all()

    def _read(self) -> None:
        number, frames = 0, _no_frames()
        try:
            while (jump := self._wait_for_room()) is not None:
                if jump >= 0:
                    frames.close()
                    number, frames = jump, self._footage.frames(jump)
                pixels = next(frames, None)
                if pixels is None:
                    number, frames = 0, self._footage.frames(0)
                    continue
                self._put(number, pixels)
                number += 1
        finally:
            frames.close()

    def _wait_for_room(self) -> int | None:
        """Where to go on reading; -1 for where it is, None if it is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._jump is not None or len(self._ready) < self._room)
            if self._closed:
                return None
            jump, self._jump = self._jump, None
            return -1 if jump is None else jump

    def _put(self, number: int, pixels: np.ndarray) -> None:
        with self._changed:
            if self._jump is None and not self._closed:  # else it is not needed any more
                self._ready.append((number, pixels))
                self._arrived = True
                self._changed.notify_all()


def _no_frames() -> Generator[np.ndarray, None, None]:
    yield from ()
