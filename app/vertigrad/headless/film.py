"""`Reel`: pictures on their way into a file, written by a thread of its own while frames go on."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ..errors import VertigradError
from .outputs import Output

_log = logging.getLogger("vertigrad")
WAITING = 8  # pictures that may wait to be written; then `put` waits, so that none is lost


class Reel:
    """Hands pictures to `output` in their order. None is dropped; after an error the rest are ignored.

    `opened` makes the output, in the thread, so that the first frame need not wait for an encoder to be loaded.
    `error` is what went wrong, if anything did; `done` turns true when the file is finished, or never will be.
    """

    def __init__(self, path: Path, opened: Callable[[], Output]):
        self.path = path
        self.error: VertigradError | None = None
        self.pictures = 0  # written so far
        self._opened, self._ended = opened, False
        self._waiting: queue.Queue[np.ndarray | None] = queue.Queue(WAITING)
        self._thread = threading.Thread(target=self._work, name=f"writing {path.name}", daemon=True)
        self._thread.start()

    @property
    def done(self) -> bool:
        """Whether nothing more will be written."""
        return not self._thread.is_alive()

    @property
    def nbytes(self) -> int:
        """Bytes that are in the file now."""
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def put(self, picture: np.ndarray) -> None:
        """The next picture, (height, width, 4) u8. Waits if too many are waiting."""
        self._waiting.put(picture)

    def finish(self) -> None:
        """No more pictures will come."""
        self._waiting.put(None)

    def abort(self, error: VertigradError) -> None:
        """No picture will come, for this reason."""
        self.error = error
        self.finish()

    def wait(self) -> None:
        """Block until the file is finished."""
        self._thread.join()

    def _work(self) -> None:
        try:
            output = self._opened()
        except Exception as error:
            self._note(error)
        else:
            self._write(output)
        while not self._ended:  # nobody may wait for a place in vain
            self._next()

    def _write(self, output: Output) -> None:
        try:
            while (picture := self._next()) is not None:
                output.put(self.pictures, picture)
                self.pictures += 1
        except Exception as error:
            self._note(error)
        try:
            output.close()
        except Exception as error:
            self._note(error)

    def _note(self, error: Exception) -> None:
        """Keep the first error. One that nobody expected is logged with its traceback: no other thread would see it."""
        if not isinstance(error, VertigradError):
            _log.error("%s: writing it failed", self.path, exc_info=error)
            error = VertigradError(f"{self.path}: writing it failed ({type(error).__name__}: {error})")
        self.error = self.error or error

    def _next(self) -> np.ndarray | None:
        picture = self._waiting.get()
        self._ended = picture is None
        return picture
