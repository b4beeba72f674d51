"""What goes through the queue: submissions, writes, and waiting for either."""

# pyright: reportAttributeAccessIssue=false
from __future__ import annotations

from typing import Any, TypeAlias

import wgpu

from .foreign import ffi, lib, libf

Commands: TypeAlias = Any  # wgpu's pointer to a finished command buffer

_COMMANDS = ffi.new("WGPUCommandBuffer[1]")  # arguments on their way to wgpu, which reads them at once
_INDEX = ffi.new("WGPUSubmissionIndex *")


def submit(queue: wgpu.GPUQueue, commands: Commands) -> int:
    """Submit and return wgpu's own index of the submission, for `wait`. `commands` cannot be used again.

    `on_submitted_work_done` raises TypeError in this version (wgpu-py #834), so fences are made of these indices.
    """
    _COMMANDS[0] = commands
    try:
        return libf.wgpuQueueSubmitForIndex(queue._internal, 1, _COMMANDS)
    finally:
        lib.wgpuCommandBufferRelease(commands)


def submit_writes(device: wgpu.GPUDevice) -> int:
    """Submit the queue's writes alone; returns the index, as `submit` does.

    An empty command buffer goes with them: a submission to a lost device ends the process, but ending an encoder of it
    raises before.
    """
    encoder = lib.wgpuDeviceCreateCommandEncoder(device._internal, ffi.NULL)
    try:
        commands = libf.wgpuCommandEncoderFinish(encoder, ffi.NULL)
    finally:
        lib.wgpuCommandEncoderRelease(encoder)
    return submit(device.queue, commands)


def wait(device: wgpu.GPUDevice, index: int) -> None:
    """Block until the submission with wgpu's `index` has finished (wgpu-py #834, see `submit`)."""
    _INDEX[0] = index
    lib.wgpuDevicePoll(device._internal, True, _INDEX)


def wait_all(device: wgpu.GPUDevice) -> None:
    """Block until everything submitted has finished."""
    lib.wgpuDevicePoll(device._internal, True, ffi.NULL)


def poll(device: wgpu.GPUDevice) -> None:
    """Let callbacks run without waiting.

    What wgpu-native 29 returns here, "the queue is empty", is true also while the GPU is still at work: only `wait` and
    bytes that have arrived prove that a submission has finished.
    """
    lib.wgpuDevicePoll(device._internal, False, ffi.NULL)


def map_for_reading(buffer: wgpu.GPUBuffer) -> Any:
    """Start mapping a staging buffer; returns wgpu's mapping, for `has_arrived` and its own `sync_wait`.

    wgpu-py submits an empty command buffer before each map (wgpu-native #305); the copy was submitted here already.
    """
    return buffer.map_async("READ_NOSYNC")


def has_arrived(mapping: Any) -> bool:
    """Whether `sync_wait` of a mapping will not wait.

    Without an event loop wgpu-py leaves an arrived mapping, and `buffer.map_state`, as they are until somebody waits.
    """
    return mapping._thread_event.is_set()


class HostImage:
    """Host bytes that go to the start of a buffer again and again: one raw write, a third of wgpu-py's cost."""

    def __init__(self, queue: wgpu.GPUQueue, buffer: wgpu.GPUBuffer):
        self.bytes = bytearray(buffer.size)
        self._pointer = ffi.from_buffer(self.bytes)
        self._queue, self._buffer = queue, buffer

    def write(self, nbytes: int) -> None:
        """Write the first `nbytes`, a multiple of 4, before everything in the next submit."""
        libf.wgpuQueueWriteBuffer(self._queue._internal, self._buffer._internal, 0, self._pointer, nbytes)
