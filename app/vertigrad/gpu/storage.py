"""`BufferStorage`: where the memory floor's bytes come from: wgpu buffers that can be computed on and drawn."""

from __future__ import annotations

import wgpu

from ..errors import StillInUse

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
            buffer = self._device.create_buffer(size=nbytes, usage=USAGE)
        except wgpu.GPUOutOfMemoryError as error:
            raise MemoryError(str(error)) from error
        buffer.destroy = _refuse_to_destroy
        return buffer

    def destroy(self, buffer: wgpu.GPUBuffer) -> None:
        """Give a buffer's memory back at once."""
        type(buffer).destroy(buffer)


def _refuse_to_destroy() -> None:
    """In place of `buffer.destroy`: a submission with a destroyed buffer ends the process (wgpu-native #588)."""
    raise StillInUse(
        "this buffer belongs to a tensor and is destroyed when nothing needs it; close() the tensor instead"
    )
