"""`FramesAhead`: frames of a recording, read by a thread before they are shown."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

import numpy as np

from ...errors import InputError
from .recording_file import Recording

AHEAD = 128 << 20  # bytes of frames in memory, but two frames at least: the one that is shown and the next
MOST = 16  # frames, however small they are
FASTEST = 8  # frames: the largest step from frame to frame that is expected to go on

Frame = Mapping[str, np.ndarray]


class FramesAhead:
    """Hands out frames of `recording`, of the tensors `names`, and reads those that will probably follow. Close it.

    At most `room` frames are in memory, and one more while it is read.
    """

    def __init__(self, recording: Recording, names: Sequence[str]):
        self._recording, self._names = recording, names
        frame_bytes = sum(recording.tensors[name].nbytes for name in names)
        self.room = max(2, min(MOST, AHEAD // max(frame_bytes, 1)))
        self._changed = threading.Condition()
        self._queue: Sequence[int] = ()  # the frame that is shown, then those that will follow
        self._ready: dict[int, Frame | InputError] = {}
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="reading a recording", daemon=True)
        self._thread.start()

    def take(self, number: int, step: int = 1, loop: bool = False) -> Frame:
        """A frame by the names of its tensors; waits until it is read. Those at `step` from each other are next.

        After the last frame the first one follows, in a `loop`. Raises `InputError` if it is damaged or closed.
        """
        queue = self._following(number, step, loop)
        with self._changed:
            self._queue = queue
            for other in self._ready.keys() - set(queue):
                del self._ready[other]
            self._changed.notify_all()
            self._changed.wait_for(lambda: number in self._ready or self._closed)
            found = self._ready.get(number, InputError(f"{self._recording.path}: is closed"))
            if isinstance(found, InputError):
                self._ready.pop(number, None)  # a folder may be written while it is read
                self._queue = ()
                raise found
            return found

    def close(self) -> None:
        """End the thread. Idempotent."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()

    def _following(self, number: int, step: int, loop: bool) -> Sequence[int]:
        count = self._recording.count
        step = step if 0 < abs(step) <= FASTEST else 1
        found = (number + step * at for at in range(self.room))
        if loop:
            return list(dict.fromkeys(one % count for one in found))
        return [one for one in found if 0 <= one < count]

    def _work(self) -> None:
        while (number := self._next()) is not None:
            frame = self._read(number)
            with self._changed:
                if number in self._queue:  # else it is not needed any more
                    self._ready[number] = frame
                    self._changed.notify_all()

    def _next(self) -> int | None:
        """The frame to read next, once there is one; None after `close`."""
        with self._changed:
            while not self._closed:
                for number in self._queue:
                    if number not in self._ready:
                        return number
                self._changed.wait()
        return None

    def _read(self, number: int) -> Frame | InputError:
        try:
            return {name: self._recording.frame(name, number) for name in self._names}
        except InputError as error:
            return error
        except Exception as error:  # whatever it is, it is raised where it is reported
            return InputError(f"{self._recording.path}: frame {number} cannot be read: {error!r}")
