"""Device memory of wgpu's buffers as file descriptors that CUDA imports, by a layer of Vulkan.

Create wgpu's instance and device inside `layer()`, and buffers that CUDA shall see inside `exportable()`.
"""

from .library import LayerError
from .sharing import (
    BufferMemory,
    Device,
    Statistics,
    export,
    exportable,
    last_buffer,
    last_device,
    layer,
    semaphore,
    signal,
    statistics,
    wait,
)

__all__ = [
    "BufferMemory",
    "Device",
    "LayerError",
    "Statistics",
    "export",
    "exportable",
    "last_buffer",
    "last_device",
    "layer",
    "semaphore",
    "signal",
    "statistics",
    "wait",
]
