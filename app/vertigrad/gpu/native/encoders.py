"""Encoders for commands and compute that live for a part of a frame: made, ended and released raw."""

# pyright: reportAttributeAccessIssue=false
from __future__ import annotations

from typing import Any

import wgpu
from wgpu.backends.wgpu_native._api import GPUCommandEncoder, GPUComputePassEncoder

from .foreign import ffi, lib, libf, new_struct_p
from .queue import Commands

_UNTIMED = ffi.new("WGPUComputePassDescriptor *")  # of a compute pass without timestamps


class Uncounted:
    """A wgpu-py object that lives for a part of a frame: made and released without the 6 µs of logging and counting."""

    _free: Any

    def __init__(self, raw: Any, device: wgpu.GPUDevice):
        self._internal, self._device, self._label = raw, device, ""

    def __del__(self) -> None:
        self._free(self._internal)


class CommandEncoder(Uncounted, GPUCommandEncoder):
    """wgpu-py's command encoder, made and finished raw."""

    _free = staticmethod(lib.wgpuCommandEncoderRelease)

    def __init__(self, device: wgpu.GPUDevice):
        super().__init__(lib.wgpuDeviceCreateCommandEncoder(device._internal, ffi.NULL), device)

    def finish(self) -> Commands:
        """The commands, for `submit`. Raises what the device found wrong in them."""
        return libf.wgpuCommandEncoderFinish(self._internal, ffi.NULL)


class ComputeEncoder(Uncounted, GPUComputePassEncoder):
    """wgpu-py's compute pass, begun and ended raw."""

    _free = staticmethod(lib.wgpuComputePassEncoderRelease)

    def __init__(self, encoder: wgpu.GPUCommandEncoder, timestamps: dict[str, Any] | None = None):
        descriptor = _UNTIMED
        if timestamps is not None:
            times = timestamp_writes(timestamps)  # lives until the pass has begun
            descriptor = ffi.new("WGPUComputePassDescriptor *")
            descriptor.timestampWrites = times
        super().__init__(lib.wgpuCommandEncoderBeginComputePass(encoder._internal, descriptor), encoder._device)

    def end(self) -> None:
        lib.wgpuComputePassEncoderEnd(self._internal)


def timestamp_writes(timestamps: dict[str, Any] | None) -> Any:
    """wgpu's structure for `timestamp_writes`, or none."""
    if not timestamps:
        return ffi.NULL
    return new_struct_p(
        "WGPUPassTimestampWrites *",
        querySet=timestamps["query_set"]._internal,
        beginningOfPassWriteIndex=timestamps["beginning_of_pass_write_index"],
        endOfPassWriteIndex=timestamps["end_of_pass_write_index"],
    )
