"""`Uploads`: host bytes written through the queue, with a bound on the staging memory they take."""

from __future__ import annotations

from collections import deque

import wgpu

from ..errors import OutOfMemory
from ..memory import BufferPool
from . import native
from .meter import Direction, Meter, Traffic
from .storage import allocating

PROBED = 1 << 20  # bytes of a write from which on its staging memory is asked for first
CHUNK = 32 << 20  # bytes written before the queue is flushed, and one such chunk in flight: bounds the staging memory


class Uploads:
    """Queue writes. They take effect before the commands of the next submission, in the order of the calls.

    wgpu stages a copy of what is written until a submission transfers it to the GPU. So whoever writes much without
    submitting anything has the writes submitted, alone: what is recorded stays as it is.
    If there is no memory for that copy, wgpu loses the device. So room is made for large ones first.
    """

    def __init__(self, device: wgpu.GPUDevice, pool: BufferPool, meter: Meter):
        self._device = device
        self._pool = pool
        self._meter = meter
        self._staged = 0  # bytes written since the last submission
        self._in_flight: deque[int] = deque()

    def write(self, buffer: wgpu.GPUBuffer, data: memoryview, offset: int, traffic: Traffic) -> None:
        """Write `data` to `buffer` from `offset` on, a multiple of 4. Counted as host to device.

        Raises `OutOfMemory` and `DeviceLost`.
        """
        end = data.nbytes - data.nbytes % 4
        for start in range(0, end, CHUNK):
            size = min(CHUNK, end - start)
            self._stage(size)
            self._write(buffer, offset + start, data, start, size)
        if end < data.nbytes:  # queue writes take whole words
            self._write(buffer, offset + end, memoryview(bytes(data[end:]).ljust(4, b"\0")), 0, 4)
        self._meter.count(Direction.HOST_TO_DEVICE, data.nbytes, traffic)

    def submitted(self) -> None:
        """A submission carried all writes with it."""
        self._staged = 0

    def finish(self) -> None:
        """Submit what is written and wait for it, so that its staging memory is free."""
        native.wait(self._device, self._submit())
        self._in_flight.clear()
        self._staged = 0

    def _submit(self) -> int:
        with allocating():
            return native.submit_writes(self._device)

    def _stage(self, nbytes: int) -> None:
        """Make sure that with `nbytes` more no more than a chunk is staged, and one is in flight."""
        if self._staged + nbytes > CHUNK:
            self._in_flight.append(self._submit())
            self._staged = 0
            if len(self._in_flight) > 1:
                native.wait(self._device, self._in_flight.popleft())
        if nbytes >= PROBED:
            self._pool.make_room(lambda: self._probe(nbytes), f"an upload asked for {nbytes:,} bytes of staging memory")
        self._staged += nbytes

    def _probe(self, nbytes: int) -> None:
        """Raise `MemoryError` if there is no room to stage `nbytes`."""
        with allocating():
            usage = wgpu.BufferUsage.MAP_WRITE | wgpu.BufferUsage.COPY_SRC
            self._device.create_buffer(label="upload", size=nbytes, usage=usage).destroy()

    def _write(self, buffer: wgpu.GPUBuffer, offset: int, data: memoryview, start: int, size: int) -> None:
        try:
            with allocating():
                self._device.queue.write_buffer(buffer, offset, data, start, size)
        except MemoryError as error:
            raise OutOfMemory(f"out of GPU memory: no room to upload {size:,} bytes") from error
