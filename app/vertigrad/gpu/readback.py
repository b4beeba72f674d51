"""`ReadbackRing`: copies from the GPU that arrive some frames later, without stalling it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import wgpu

from ..errors import DeviceLost, GpuError, OutOfMemory
from ..memory import BufferPool, size_class
from . import native
from .storage import allocating

SPARE = 8  # staging buffers retained for reuse
SPARE_BYTES = 128 << 20  # and how large they may be together
USAGE = wgpu.BufferUsage.COPY_DST | wgpu.BufferUsage.MAP_READ
ROW_ALIGNMENT = 256  # bytes; WebGPU's rule for the rows of a texture copied to a buffer


@dataclass(slots=True, eq=False)
class Reading:
    """One copy in flight. `then` receives the bytes once, from `ReadbackRing.collect`."""

    staging: wgpu.GPUBuffer
    nbytes: int
    then: Callable[[memoryview], Any] | None
    mapping: Any = field(default=None, init=False)
    serial: int = field(default=0, init=False)
    data: memoryview | None = field(default=None, init=False)
    dropped: bool = field(default=False, init=False)

    def drop(self) -> None:
        """Cancel it: its copy will never be submitted."""
        self.dropped = True
        self.staging.destroy()

    @property
    def done(self) -> bool:
        """Whether there is nothing more to wait for: the bytes were collected, or will never come."""
        return self.data is not None or self.dropped


class ReadbackRing:
    """Staging buffers, reused as their readings are collected.

    A copy is recorded by `record` or `copy_texture`, mapped after its submission (`submitted`), and handed out by
    `collect` when it has arrived, in the order of recording.
    """

    def __init__(self, device: wgpu.GPUDevice, pool: BufferPool, probe: native.LossProbe):
        self._device = device
        self._probe = probe
        self._pool = pool
        self._largest = device.limits["max-buffer-size"] & ~3
        self._recorded: list[Reading] = []
        self._pending: list[Reading] = []
        self._spare: list[wgpu.GPUBuffer] = []

    @property
    def in_flight(self) -> int:
        """Readings recorded or submitted whose bytes were not collected yet."""
        return len(self._recorded) + len(self._pending)

    def reading(self, nbytes: int, then: Callable[[memoryview], Any] | None = None) -> Reading:
        """A reading of so many bytes, a multiple of 4, for `record`."""
        return Reading(self._staging(nbytes), nbytes, then)

    def record(self, encoder: wgpu.GPUCommandEncoder, reading: Reading, source: wgpu.GPUBuffer, offset: int) -> None:
        """Record the copy from `source` at `offset`, a multiple of 4."""
        encoder.copy_buffer_to_buffer(source, offset, reading.staging, 0, reading.nbytes)
        self._recorded.append(reading)

    def copy_texture(
        self,
        encoder: wgpu.GPUCommandEncoder,
        texture: wgpu.GPUTexture,
        row_bytes: int,
        then: Callable[[memoryview], Any],
    ) -> Reading:
        """Record a copy of a whole 2-d texture, rows of `row_bytes`; `then` receives the rows without padding."""
        width, height = texture.size[:2]
        pitch = -(-row_bytes // ROW_ALIGNMENT) * ROW_ALIGNMENT
        reading = Reading(self._staging(pitch * height), pitch * height, lambda d: then(_rows(d, row_bytes, pitch)))
        destination = {"buffer": reading.staging, "offset": 0, "bytes_per_row": pitch, "rows_per_image": height}
        encoder.copy_texture_to_buffer({"texture": texture}, destination, (width, height, 1))
        self._recorded.append(reading)
        return reading

    def submitted(self, serial: int) -> None:
        """The recorded copies were submitted, as number `serial`: ask for their bytes."""
        for reading in self._recorded:
            reading.serial = serial
            reading.mapping = native.map_for_reading(reading.staging)
        self._pending += self._recorded
        self._recorded.clear()

    def abandon(self) -> None:
        """The recorded copies will never be submitted."""
        for reading in self._recorded:
            reading.drop()
        self._recorded.clear()

    def lose(self) -> None:
        """The device is gone: no copy will arrive any more."""
        for reading in (*self._recorded, *self._pending):
            reading.dropped = True
        self._recorded, self._pending = [], []

    def collect(self, finished: int) -> int:
        """Hand out what has arrived, and all of the submissions up to `finished`, which the GPU is done with.

        Of those only the word that they arrived can be in flight still, in wgpu's own thread. Returns the last
        submission that is now known to have finished.
        """
        while self._pending and (self._pending[0].serial <= finished or native.has_arrived(self._pending[0].mapping)):
            finished = max(finished, self._pending[0].serial)
            self._take_first()
        return finished

    def wait(self, reading: Reading) -> memoryview:
        """Block until `reading`, which was submitted, has arrived; returns its bytes.

        Raises `GpuError` if the commands it was recorded with were dropped, and `DeviceLost`.
        """
        while reading.data is None:
            if reading.dropped:
                raise GpuError(
                    "this reading never happened: the commands it was recorded with were dropped after an error"
                )
            self._take_first()
        return reading.data

    def _take_first(self) -> None:
        first = self._pending.pop(0)
        try:
            self._require_device()
            first.mapping.sync_wait()
            self._require_device()  # else reading mapped memory ends the process
        except RuntimeError as error:
            first.dropped = True
            raise DeviceLost(f"values could not be read back: {error}") from error
        self._finish(first)

    def _require_device(self) -> None:
        if self._probe.lost:
            raise RuntimeError("the GPU is gone")

    def _finish(self, reading: Reading) -> None:
        # read_mapped(copy=False) leaves a view on freed memory after unmap; the copy is the safe one
        try:
            reading.data = data = memoryview(reading.staging.read_mapped(0, reading.nbytes))  # pyright: ignore
        except MemoryError as error:
            reading.dropped = True
            raise OutOfMemory(f"out of host memory: no room for {reading.nbytes:,} bytes read back") from error
        finally:
            reading.staging.unmap()
            self._recycle(reading.staging)
        if reading.then is not None:
            reading.then(data)

    def _staging(self, nbytes: int) -> wgpu.GPUBuffer:
        size = min(size_class(nbytes), self._largest)
        for i, buffer in enumerate(self._spare):
            if buffer.size == size:
                return self._spare.pop(i)
        # what is recorded is not submitted for it: the copy goes into the encoder that the caller has
        return self._pool.make_room(lambda: self._create(size), f"a readback asked for {size:,} bytes", submit=False)

    def _create(self, size: int) -> wgpu.GPUBuffer:
        """A new staging buffer, instead of spare ones of other sizes if there is no room next to them."""
        try:
            with allocating():
                return self._device.create_buffer(label="readback", size=size, usage=USAGE)
        except MemoryError:
            while self._spare:
                self._spare.pop().destroy()
            raise

    def _recycle(self, buffer: wgpu.GPUBuffer) -> None:
        self._spare.append(buffer)
        while len(self._spare) > SPARE or sum(spare.size for spare in self._spare) > SPARE_BYTES:
            self._spare.pop(0).destroy()


def _rows(data: memoryview, row_bytes: int, pitch: int) -> memoryview:
    if row_bytes == pitch:
        return data
    return memoryview(b"".join(data[start : start + row_bytes] for start in range(0, len(data), pitch)))
