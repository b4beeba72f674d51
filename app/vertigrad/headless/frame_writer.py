"""`FrameWriter`: writes images or a video in another thread, while the frame loop continues."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ..errors import VertigradError
from .output import Output

_log = logging.getLogger("vertigrad")
QUEUED = 8  # frames that may wait to be written; then `put` blocks, so that none is lost


class FrameWriter:
    """Pass frames to an `Output` in order. None is dropped; after an error the rest are ignored.

    `open_output` opens the output in the thread, so that the first frame need not wait for an encoder to load.
    `error` is the first error, if any; `done` becomes true when the file is finished or has failed.
    """

    def __init__(self, path: Path, open_output: Callable[[], Output]):
        self.path = path
        self.error: VertigradError | None = None
        self.frames = 0  # written so far
        self._open_output, self._ended = open_output, False
        self._queue: queue.Queue[np.ndarray | None] = queue.Queue(QUEUED)
        self._thread = threading.Thread(target=self._work, name=f"writing {path.name}", daemon=True)
        self._thread.start()

    @property
    def done(self) -> bool:
        """Whether writing has ended."""
        return not self._thread.is_alive()

    @property
    def nbytes(self) -> int:
        """Bytes written to the file so far."""
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def put(self, frame: np.ndarray) -> None:
        """Write the next frame, (height, width, 4) u8. Blocks while the queue is full."""
        self._queue.put(frame)

    def finish(self) -> None:
        """Finish the file after the frames in the queue."""
        self._queue.put(None)

    def abort(self, error: VertigradError) -> None:
        """Finish without another frame, because of `error`."""
        self.error = error
        self.finish()

    def wait(self) -> None:
        """Block until the file is finished."""
        self._thread.join()

    def _work(self) -> None:
        try:
            output = self._open_output()
        except Exception as error:
            self._note(error)
        else:
            self._write(output)
        while not self._ended:  # `put` must not block for ever
            self._next()

    def _write(self, output: Output) -> None:
        try:
            while (frame := self._next()) is not None:
                output.put(self.frames, frame)
                self.frames += 1
        except Exception as error:
            self._note(error)
        try:
            output.close()
        except Exception as error:
            self._note(error)

    def _note(self, error: Exception) -> None:
        """Store the first error. Unexpected errors are logged with their traceback, which other threads do not have."""
        if not isinstance(error, VertigradError):
            _log.error("%s: writing it failed", self.path, exc_info=error)
            error = VertigradError(f"{self.path}: writing it failed ({type(error).__name__}: {error})")
        self.error = self.error or error

    def _next(self) -> np.ndarray | None:
        frame = self._queue.get()
        self._ended = frame is None
        return frame
