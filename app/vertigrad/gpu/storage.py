"""`BufferStorage`: where the bytes of `memory` come from: wgpu buffers that can be computed on and drawn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import wgpu

from ..errors import DeviceLost, StillInUse

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
        """A buffer of `nbytes`. Raises `MemoryError` if the device has no room for it, and `DeviceLost`."""
        with allocating():
            buffer = self._device.create_buffer(size=nbytes, usage=USAGE)
        buffer.destroy = _refuse_to_destroy
        return buffer

    def destroy(self, buffer: wgpu.GPUBuffer) -> None:
        """Give a buffer's memory back at once."""
        type(buffer).destroy(buffer)


@contextmanager
def allocating() -> Iterator[None]:
    """Raise `MemoryError` if the device has no room for what is made inside, `DeviceLost` if it is gone.

    wgpu-native reports exhausted memory as a validation error, so only its text differs from a wrong descriptor.
    """
    try:
        yield
    except wgpu.GPUError as error:
        if isinstance(error, wgpu.GPUOutOfMemoryError) or "not enough memory" in str(error).lower():
            raise MemoryError(str(error)) from error
        if is_loss(error):
            raise DeviceLost(f"the GPU is gone: {' '.join(str(error).split())}") from error
        raise


def is_loss(error: BaseException) -> bool:
    """Whether wgpu raised an error because its device is lost; it has no class of its own for that."""
    return isinstance(error, wgpu.GPUError) and "device is lost" in str(error).lower()


def _refuse_to_destroy() -> None:
    """Replaces `buffer.destroy`: a submission with a destroyed buffer ends the process (wgpu-native #588)."""
    raise StillInUse(
        "this buffer belongs to a tensor and is destroyed when nothing needs it; close() the tensor instead"
    )
