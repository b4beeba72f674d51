"""The shared library of the layer, by ctypes: the same object that the Vulkan loader opens, so both see one state."""

from __future__ import annotations

import ctypes as c
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
LIBRARY = FOLDER / "libvertigrad_cuda.so"
LAYER = "VK_LAYER_VERTIGRAD_cuda"  # as in the manifest

NO_DEVICE, NO_MEMORY, NO_EXPORT, NO_QUEUE, BAD_VALUE = range(-100001, -100006, -1)  # as in layer.h


class LayerError(RuntimeError):
    """The layer is not there, or cannot do what was asked; the message says why."""


class DeviceReport(c.Structure):
    """As in python.c."""

    _fields_ = [
        ("id", c.c_uint64),
        ("uuid", c.c_uint8 * 16),
        ("name", c.c_char * 256),
        ("exports_memory", c.c_uint32),
        ("exports_semaphores", c.c_uint32),
    ]


class BufferReport(c.Structure):
    """As in layer.h."""

    _fields_ = [
        *((name, c.c_uint64) for name in ("memory", "size", "memory_size", "offset")),
        *((name, c.c_uint32) for name in ("exportable", "dedicated", "exists")),
    ]


class StatisticsReport(c.Structure):
    """As in python.c."""

    _fields_ = [(name, c.c_uint64) for name in ("devices", "memories", "bytes", "exports")]


FUNCTIONS = {
    "vertigrad_last_device": (c.c_int, c.POINTER(DeviceReport)),
    "vertigrad_mark": (None, c.c_int),
    "vertigrad_last_buffer": (c.c_int, c.POINTER(BufferReport)),
    "vertigrad_export": (c.c_int, c.c_uint64),
    "vertigrad_statistics": (None, c.POINTER(StatisticsReport)),
    "vertigrad_semaphore": (c.c_int, c.c_uint64, c.c_int),
    "vertigrad_submit": (c.c_int, c.c_uint64, c.c_int, c.c_uint64, c.c_int),
    "vertigrad_small_placeholders": (None, c.c_int),
}


@cache
def library() -> c.CDLL:
    """The opened library. Raises `LayerError` if it is not there or not for this system."""
    try:
        opened = c.CDLL(str(LIBRARY))
    except OSError as error:
        raise LayerError(f"{LIBRARY} cannot be opened: {error}. Reinstall vertigrad-cuda for this system") from error
    for name, (result, *arguments) in FUNCTIONS.items():
        function = getattr(opened, name)
        function.restype, function.argtypes = result, arguments
    return opened


def checked(result: int, what: str) -> int:
    """A result of the library that is not negative. Raises `LayerError`, which begins with `what` failed."""
    if result >= 0:
        return result
    reasons = {
        NO_DEVICE: "there is no such device; it was destroyed, or made where the layer was not loaded",
        NO_MEMORY: "there is no such exportable memory; the buffer was destroyed, or never exportable",
        NO_EXPORT: "this device exports no timeline semaphores as file descriptors",
        NO_QUEUE: "the application has not asked this device for its queue yet",
        BAD_VALUE: "a signal's value must be above that of the signal before",
    }
    raise LayerError(f"{what}: {reasons.get(result, f'the Vulkan driver answered VkResult {result}')}")
