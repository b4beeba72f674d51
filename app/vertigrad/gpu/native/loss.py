"""Whether a device is lost. wgpu-py 0.32 only logs that, and wgpu-native ends the process at the next wrong call."""

# pyright: reportAttributeAccessIssue=false
from __future__ import annotations

import wgpu

from .foreign import ffi, libf


class LossProbe:
    """Asks a device whether it is lost, in 3 µs: a write of no bytes is refused then, which is raised.

    To be asked before what has no check of its own: submitting, and reading mapped memory.
    """

    def __init__(self, device: wgpu.GPUDevice):
        self._queue = device.queue
        self._buffer = device.create_buffer(label="loss probe", size=4, usage=wgpu.BufferUsage.COPY_DST)
        self._no_bytes = ffi.new("char[4]")

    @property
    def lost(self) -> bool:
        """Whether the device is lost."""
        try:
            libf.wgpuQueueWriteBuffer(self._queue._internal, self._buffer._internal, 0, self._no_bytes, 0)
        except wgpu.GPUError:
            return True
        return False
