"""`Frames`: one submission a frame, and at most k of them in flight."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from ..errors import ParameterError
from .compile_jobs import start_waiting

if TYPE_CHECKING:
    from .device import Gpu


class Took(NamedTuple):
    """How many ms the GPU worked on the frame of that number, at most: it is asked only when the frame must be over."""

    frame: int
    ms: float


class _Frame(NamedTuple):
    serial: int
    number: int
    submitted: float


class OpenFrame:
    """A frame: it begins and ends with the `with` block, whose target is its number."""

    def __init__(self, frames: Frames):
        self._frames = frames

    def __enter__(self) -> int:
        return self._frames.begin()

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is None:
            self._frames.end()
        else:
            self._frames.drop()


class Frames:
    """Opens and closes frames."""

    def __init__(self, gpu: Gpu, in_flight: int = 2):
        self._gpu = gpu
        self._pending: deque[_Frame] = deque()
        self._finished = 0.0  # when the last frame that was waited for had finished, by `time.perf_counter`
        self.took: Took | None = None
        self.in_flight = in_flight
        self.open = False
        self.live = False  # whether they are shown as they are made: nothing in them may wait for a file

    @property
    def in_flight(self) -> int:
        """How many frames the CPU may be ahead of the GPU: 1 to 3. Raises `ParameterError` for anything else."""
        return self._in_flight

    @in_flight.setter
    def in_flight(self, frames: int) -> None:
        if frames not in (1, 2, 3):
            raise ParameterError(f"frames in flight must be 1, 2 or 3, not {frames!r}")
        self._in_flight = frames

    def begin(self) -> int:
        """Wait for frame N−k only, release what it held, and open frame N; returns N, counted from 1."""
        gpu = self._gpu
        gpu.submit()  # what was recorded between frames is not this frame's
        if gpu.tracker.frame:
            start_waiting()
        while len(self._pending) >= self.in_flight:
            self._wait_for_first()
        gpu.pool.tidy()
        self.open = True
        gpu.tracker.frame += 1
        return gpu.tracker.frame

    def end(self) -> int:
        """Submit the frame; returns the serial of its submission."""
        self.open = False
        serial = self._gpu.submit()
        self._pending.append(_Frame(serial, self._gpu.tracker.frame, time.perf_counter()))
        return serial

    def wait(self) -> None:
        """Wait until at most `in_flight` submissions of frames are in flight."""
        while len(self._pending) > self.in_flight:
            self._wait_for_first()

    def frame(self) -> OpenFrame:
        """`begin` and `end` around a block; after an error in it, what was recorded is dropped."""
        return OpenFrame(self)

    def drop(self) -> None:
        """End a frame without what was recorded in it."""
        self.open = False
        self._gpu.abandon()

    def _wait_for_first(self) -> None:
        first = self._pending.popleft()
        self._gpu.wait(first.serial)
        now = time.perf_counter()
        self.took = Took(first.number, (now - max(first.submitted, self._finished)) * 1e3)
        self._finished = now
