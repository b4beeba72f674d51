"""`BufferStorage`: where the bytes of `memory` come from: wgpu buffers that can be computed on and drawn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import wgpu

from ..errors import DeviceLost, GpuError, StillInUse
from ..sharing import Connection, Mapped, SharingFailed
from . import native

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

    def __init__(self, device: wgpu.GPUDevice, connection: Connection | None = None):
        self._device = device
        self._connection = connection
        self._mapped: dict[wgpu.GPUBuffer, Mapped] = {}
        self.largest = device.limits["max-buffer-size"] & ~3

    def allocate(self, nbytes: int) -> wgpu.GPUBuffer:
        """A buffer of `nbytes`. Raises `MemoryError` if the device has no room for it, and `DeviceLost`."""
        with allocating():
            buffer = self._device.create_buffer(size=nbytes, usage=USAGE)
        buffer.destroy = _refuse_to_destroy
        return buffer

    def allocate_shared(self, nbytes: int) -> wgpu.GPUBuffer:
        """A buffer of `nbytes`, set to zero, whose memory frameworks on the same GPU see at `mapped(buffer).pointer`.

        Raises `MemoryError`, `DeviceLost`, and `GpuError` if the memory cannot be imported.
        """
        if self._connection is None:
            raise GpuError("memory cannot be shared with other frameworks here")
        try:
            buffer, mapped = self._connection.shared(lambda: self.allocate(nbytes))
        except SharingFailed as error:
            raise GpuError(f"{nbytes:,} bytes cannot be shared with other frameworks: {error}") from error
        encoder = self._device.create_command_encoder()
        encoder.clear_buffer(buffer)  # else wgpu would do it at its first use, over what a framework wrote
        self._device.queue.submit([encoder.finish()])
        native.wait_all(self._device)
        self._mapped[buffer] = mapped
        return buffer

    def mapped(self, buffer: wgpu.GPUBuffer) -> Mapped:
        """The memory of a shared buffer as frameworks see it; valid while the result is kept."""
        return self._mapped[buffer]

    def destroy(self, buffer: wgpu.GPUBuffer) -> None:
        """Give a buffer's memory back at once; frameworks that still see it keep the bytes."""
        self._mapped.pop(buffer, None)
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
