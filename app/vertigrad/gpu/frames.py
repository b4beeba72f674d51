"""`Frames`: one submission a frame, and at most k of them under way."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..errors import ParameterError

if TYPE_CHECKING:
    from .device import Gpu


class Frames:
    """Opens and closes frames."""

    def __init__(self, gpu: Gpu, in_flight: int = 2):
        self._gpu = gpu
        self._serials: deque[int] = deque()
        self.in_flight = in_flight
        self.open = False

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
        while len(self._serials) >= self.in_flight:
            gpu.wait(self._serials.popleft())
        gpu.pool.tidy()
        self.open = True
        gpu.tracker.frame += 1
        return gpu.tracker.frame

    def end(self) -> int:
        """Submit the frame; returns the serial of its submission."""
        self.open = False
        serial = self._gpu.submit()
        self._serials.append(serial)
        return serial

    def wait(self) -> None:
        """Wait until at most `in_flight` submissions of frames are under way."""
        while len(self._serials) > self.in_flight:
            self._gpu.wait(self._serials.popleft())

    @contextmanager
    def frame(self) -> Iterator[int]:
        """`begin` and `end` around a block; after an error in it, what was recorded is dropped."""
        number = self.begin()
        try:
            yield number
        except BaseException:
            self.open = False
            self._gpu.abandon()
            raise
        self.end()
