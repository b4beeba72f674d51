"""What a program does with the layer: switch it on, mark buffers, export their memory, submit semaphores."""

from __future__ import annotations

import contextlib
import ctypes as c
import os
from collections.abc import Iterator
from dataclasses import dataclass

from .library import FOLDER, LAYER, BufferReport, DeviceReport, LayerError, StatisticsReport, checked, library

TO_CUDA, TO_GPU_API = 0, 1  # which semaphore: signaled by the GPU API, or by CUDA


@dataclass(frozen=True)
class Device:
    """A VkDevice. `uuid` has 16 bytes, and is the CUDA device's if both are the same GPU."""

    id: int
    uuid: bytes
    name: str
    exports_memory: bool
    exports_semaphores: bool


@dataclass(frozen=True)
class BufferMemory:
    """Where a buffer is: `size` bytes [B] at `offset` in a VkDeviceMemory of `memory_size`.

    `memory` names it for `export`. If not `exportable`, the buffer is somewhere in memory of the application's
    allocator, and `memory` and `memory_size` are 0. If `dedicated`, an import has to say so
    (`CUDA_EXTERNAL_MEMORY_DEDICATED`).
    """

    memory: int
    size: int
    memory_size: int
    offset: int
    exportable: bool
    dedicated: bool = False


@dataclass(frozen=True)
class Statistics:
    """Devices and exportable memories that exist, the bytes of these, and how many were exported so far."""

    devices: int
    memories: int
    bytes: int
    exports: int


@contextlib.contextmanager
def layer() -> Iterator[None]:
    """Inside, an instance of Vulkan is created with the layer. Afterwards the environment is as it was.

    wgpu creates its instance once in a process, when it is first asked for adapters: that has to happen inside. The
    environment belongs to the whole process, so other threads must not change it meanwhile. Needs a Vulkan loader that
    knows VK_ADD_LAYER_PATH (1.3.211 or newer has it). Raises `LayerError` if the library cannot be opened.
    """
    library()  # opened before the loader does, and never closed: state outlives an instance
    # If VK_LAYER_PATH is set, the loader ignores VK_ADD_LAYER_PATH.
    path = "VK_LAYER_PATH" if os.environ.get("VK_LAYER_PATH") else "VK_ADD_LAYER_PATH"
    added = {path: str(FOLDER), "VK_INSTANCE_LAYERS": LAYER}
    before = {name: os.environ.get(name) for name in added}
    for name, value in added.items():
        os.environ[name] = os.pathsep.join(filter(None, (before[name], value)))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def last_device() -> Device:
    """The VkDevice that this thread created last. Raises `LayerError` if it created none under the layer."""
    report = DeviceReport()
    result = library().vertigrad_last_device(c.byref(report))
    checked(result, "no device of this thread's under the layer")
    exports = bool(report.exports_memory), bool(report.exports_semaphores)
    return Device(report.id, bytes(report.uuid), report.name.decode(), *exports)


@contextlib.contextmanager
def exportable() -> Iterator[None]:
    """Buffers that this thread creates inside get exportable memory of their own, if their usage has STORAGE or VERTEX.

    Each is one allocation of the driver, which allows some thousands. If there is no memory left, creating the buffer
    fails. Such buffers must not be mappable, nor mapped at creation: writes through a mapping do not reach them.
    """
    opened = library()
    opened.vertigrad_mark(1)
    try:
        yield
    finally:
        opened.vertigrad_mark(0)


def last_buffer() -> BufferMemory:
    """The buffer that this thread created last inside `exportable()`, the innermost it entered last.

    Raises `LayerError` if it created none there.
    """
    report = BufferReport()
    if library().vertigrad_last_buffer(c.byref(report)) < 0:
        raise LayerError("this thread has created no buffer inside exportable() on a device under the layer")
    return BufferMemory(
        report.memory,
        report.size,
        report.memory_size,
        report.offset,
        bool(report.exportable),
        bool(report.dedicated),
    )


def export(memory: int) -> int:
    """A new opaque file descriptor of this memory, which the caller closes, or hands to an import that does.

    The bytes stay valid as long as it, or what was imported from it, is open, also if the buffer is destroyed. Raises
    `LayerError` if there is no such memory any more.
    """
    _natural("memory", memory)
    return checked(library().vertigrad_export(memory), f"memory {memory} cannot be exported")


def statistics() -> Statistics:
    """What exists now, on all devices under the layer."""
    report = StatisticsReport()
    library().vertigrad_statistics(c.byref(report))
    return Statistics(report.devices, report.memories, report.bytes, report.exports)


def semaphore(device_id: int, which: int) -> int:
    """A new file descriptor of a timeline semaphore, created at the first call with the value 0; the caller closes it.

    `which` is 0 for the one that the GPU API signals and CUDA waits for, 1 for the other direction. Raises `LayerError`
    if the device is gone or exports none.
    """
    _direction(which)
    return checked(library().vertigrad_semaphore(device_id, which), f"no semaphore of device {device_id}")


def signal(device_id: int, which: int, value: int) -> None:
    """Submit: semaphore `which` gets `value` when all that was submitted to the queue before is done.

    Values rise from signal to signal. Raises `LayerError` otherwise, and as `semaphore` does.
    """
    _submit(device_id, which, value, True)


def wait(device_id: int, which: int, value: int) -> None:
    """Submit: all that is submitted to the queue afterwards waits until semaphore `which` has `value`.

    If nobody signals it, the queue hangs. Raises `LayerError` as `semaphore` does.
    """
    _submit(device_id, which, value, False)


def _submit(device_id: int, which: int, value: int, signals: bool) -> None:
    _direction(which)
    _natural("value", value)
    what = f"the {'signal' if signals else 'wait'} of device {device_id} for {value} was not submitted"
    checked(library().vertigrad_submit(device_id, which, value, signals), what)


def _direction(which: int) -> None:
    if which not in (TO_CUDA, TO_GPU_API):
        raise LayerError(f"semaphore {which!r}: there are 0 (the GPU API signals) and 1 (CUDA signals)")


def _natural(name: str, number: int) -> None:
    if not 0 <= number < 1 << 64:
        raise LayerError(f"{name} is {number}, not an unsigned number of 64 bits")
