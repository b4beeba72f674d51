"""`UniformRing`: the small values of one submission, uploaded once before it."""

from __future__ import annotations

import wgpu

from ..errors import LimitError
from .meter import Direction, Meter, Traffic
from .native import HostImage

CAPACITY = 4 << 20


class UniformRing:
    """Collects uniform data while a submission is recorded and uploads it with one write before the submit.

    A queue write takes effect before everything in the next submit, so values that differ between dispatches of one
    submission (a substep's time) have different offsets, bound dynamically. Each submission starts at offset 0
    again: the queue keeps writes and submits in order.
    """

    def __init__(self, device: wgpu.GPUDevice, meter: Meter):
        self._meter = meter
        self.alignment = max(16, device.limits["min-uniform-buffer-offset-alignment"])
        self.buffer = device.create_buffer(
            label="uniform ring", size=CAPACITY, usage=wgpu.BufferUsage.UNIFORM | wgpu.BufferUsage.COPY_DST
        )
        self._image = HostImage(device.queue, self.buffer)
        self._bytes = self._image.bytes
        self._used = 0

    def aligned(self, nbytes: int) -> int:
        """`nbytes` rounded up to where the next value may start."""
        return -(-nbytes // self.alignment) * self.alignment

    def fits(self, nbytes: int) -> bool:
        """Whether `nbytes` more fit into this submission. Raises `LimitError` if they fit into none."""
        if nbytes > CAPACITY:
            raise LimitError(f"{nbytes} bytes of uniforms in one plan; at most {CAPACITY} fit")
        return self._used + nbytes <= CAPACITY

    def push(self, data: bytes | bytearray) -> int:
        """Add `data`; returns its offset for dynamic binding. Raises `LimitError` if this submission is full."""
        start = self._used
        end = start + len(data)
        if end > CAPACITY:
            raise LimitError(f"uniform ring full: {CAPACITY} bytes in one submission; submit more often")
        self._bytes[start:end] = data
        self._used = end + -end % self.alignment
        return start

    def abandon(self) -> None:
        """What was pushed will not be used; the next push starts from the beginning."""
        self._used = 0

    def flush(self) -> None:
        """Upload what was pushed; the next push starts from the beginning."""
        if self._used:
            self._image.write(self._used)
            self._meter.count(Direction.HOST_TO_DEVICE, self._used, Traffic.UNIFORMS)
            self._used = 0
