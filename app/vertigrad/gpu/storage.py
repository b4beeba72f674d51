"""`BufferStorage`: where the memory floor's bytes come from: wgpu buffers that can be computed on and drawn."""

from __future__ import annotations

import wgpu

USAGE = (
    wgpu.BufferUsage.STORAGE
    | wgpu.BufferUsage.VERTEX
    | wgpu.BufferUsage.INDEX
    | wgpu.BufferUsage.INDIRECT
    | wgpu.BufferUsage.COPY_SRC
    | wgpu.BufferUsage.COPY_DST
)


class BufferStorage:
    """Makes and destroys the buffer under each block; every one may be a vertex buffer."""

    def __init__(self, device: wgpu.GPUDevice):
        self._device = device
        self.largest = device.limits["max-buffer-size"] & ~3

    def allocate(self, nbytes: int) -> wgpu.GPUBuffer:
        """A buffer of `nbytes`. Raises `MemoryError` if the device has no room for it."""
        try:
            return self._device.create_buffer(size=nbytes, usage=USAGE)
        except wgpu.GPUOutOfMemoryError as error:
            raise MemoryError(str(error)) from error

    def destroy(self, buffer: wgpu.GPUBuffer) -> None:
        """Give a buffer's memory back at once."""
        buffer.destroy()
