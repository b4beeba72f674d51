"""`FrameWriter`: writes images, a video or geometry in another thread, while the frame loop continues."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from ..errors import VertigradError

_log = logging.getLogger("vertigrad")
QUEUED = 8  # frames that may wait to be written as a rule; then `put` blocks, so that none is lost


Item = TypeVar("Item")
Taken = TypeVar("Taken", contravariant=True)


class Sink(Protocol[Taken]):
    """What frames are written to: an `Output` takes images."""

    def put(self, frame: int, pixels: Taken, /) -> None:
        """Write a frame."""
        ...

    def close(self) -> None:
        """Finish the file."""
        ...

    def discard(self) -> None:
        """End without `close`, and remove what was written of an unfinished file."""
        ...


class FrameWriter(Generic[Item]):
    """Pass frames to a `Sink` in order. None is dropped; after an error or `cancel` the rest are ignored.

    `open_output` opens the output in the thread, so that the first frame need not wait for an encoder to load.
    `error` is the first error, if any; `done` becomes true when the file is finished, has failed or was canceled. In
    the latter two cases no unfinished file is left. `room` is how many frames may wait.
    """

    def __init__(self, path: Path, open_output: Callable[[], Sink[Item]], room: int = QUEUED):
        self.path = path
        self.error: VertigradError | None = None
        self.frames = 0  # written so far
        self.canceled = False
        self._open_output, self._ended = open_output, False
        self._queue: queue.Queue[Item | None] = queue.Queue(room)
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

    @property
    def behind(self) -> bool:
        """Whether so many frames wait that `put` would block soon."""
        return self._queue.qsize() >= QUEUED // 2

    def put(self, frame: Item) -> None:
        """Write the next frame, an image (height, width, 4) u8 for an `Output`. Blocks while the queue is full."""
        self._queue.put(frame)

    def finish(self) -> None:
        """Finish the file after the frames in the queue."""
        self._queue.put(None)

    def abort(self, error: VertigradError) -> None:
        """Finish without another frame, because of `error`."""
        self.error = error
        self.finish()

    def cancel(self) -> None:
        """End without a file, as soon as the frame that is being written is done. Does not block."""
        self.canceled = True
        with suppress(queue.Empty):
            while True:
                self._queue.get_nowait()
        self._queue.put_nowait(None)

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

    def _write(self, output: Sink[Item]) -> None:
        try:
            while (frame := self._next()) is not None and not self.canceled:
                output.put(self.frames, frame)
                self.frames += 1
        except Exception as error:
            self._note(error)
        try:
            if self.error is None and not self.canceled:
                output.close()
        except Exception as error:
            self._note(error)
        try:
            if self.error is not None or self.canceled:
                output.discard()
        except Exception as error:
            self._note(error)

    def _note(self, error: Exception) -> None:
        """Store the first error, but none after `cancel`, which may be its cause. Unexpected errors are logged with
        their traceback, which other threads do not have.
        """
        if self.canceled and isinstance(error, VertigradError):
            return
        if not isinstance(error, VertigradError):
            _log.error("%s: writing it failed", self.path, exc_info=error)
            error = VertigradError(f"{self.path}: writing it failed ({type(error).__name__}: {error})")
        self.error = self.error or error

    def _next(self) -> Item | None:
        frame = self._queue.get()
        self._ended = frame is None
        return frame
