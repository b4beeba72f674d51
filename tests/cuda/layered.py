"""Devices and buffers under the layer, for the programs next to this file."""

from __future__ import annotations

import logging
import mmap
import os
import sys
import tempfile

import numpy as np
import wgpu

import vertigrad_cuda as vc

SKIPPED = 77
PADDING = 4  # that wgpu appends to a buffer with VERTEX
USAGE = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.VERTEX | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST
COPY = wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST


def skip(reason: str) -> None:
    """End the program: its test is skipped."""
    print(reason)
    sys.exit(SKIPPED)


def software_adapter() -> wgpu.GPUAdapter:
    """The software driver of Vulkan, whose exported memory can be mapped."""
    logging.getLogger("wgpu").setLevel(logging.ERROR)
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())
    found = [a for a in wgpu.gpu.enumerate_adapters_sync() if a.info["backend_type"] == "Vulkan"]
    software = [a for a in found if a.info["adapter_type"] == "CPU"]
    if not software:
        skip("there is no software driver of Vulkan here")
    return software[0]


def layered_device() -> wgpu.GPUDevice:
    """A device under the layer."""
    with vc.layer():
        device = software_adapter().request_device_sync()
    if not vc.last_device().exports_memory:
        skip("the software driver of Vulkan exports no memory")
    return device


def shared_buffer(device: wgpu.GPUDevice, size: int, usage: int = USAGE) -> tuple[wgpu.GPUBuffer, vc.BufferMemory]:
    with vc.exportable():
        buffer = device.create_buffer(size=size, usage=usage)
    return buffer, vc.last_buffer()


def wait_idle(device: wgpu.GPUDevice) -> None:
    device.queue.submit([])
    device.queue.read_buffer(device.create_buffer(size=4, usage=COPY))


def mapped(fd: int, size: int, values: np.ndarray) -> np.ndarray:
    """The bytes behind an fd from `values` on, which are searched for: the driver puts them where it likes."""
    file = mmap.mmap(fd, 0)
    os.close(fd)
    start = file.find(values.tobytes())
    assert start >= 0, "the values that wgpu wrote are not behind the fd"
    return np.frombuffer(file, np.uint8, size, start)


def expect_error(part: str, call, *arguments) -> None:
    try:
        call(*arguments)
    except vc.LayerError as error:
        assert part in str(error), error
    else:
        raise AssertionError(f"{call.__name__}{arguments} raised nothing")
