"""Whether buffers of the GPU that is in use can be shared with frameworks, and the connection if so."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

from . import cuda
from .driver import Driver, Mapped, SharingFailed
from .host import Host

T = TypeVar("T")
SETTING = "VERTIGRAD_SHARING"  # "off", or "host": share a software adapter's memory with the host, for tests


class Connection(NamedTuple):
    """The layer that exports a buffer's memory, and the driver that imports it."""

    layer: Any
    driver: Driver

    def shared(self, create: Callable[[], T]) -> tuple[T, Mapped]:
        """What `create` makes, which is one buffer, with memory of its own that the driver has mapped.

        Raises `SharingFailed`, and `MemoryError` if the driver has no room to map it.
        """
        with self.layer.exportable():
            buffer = create()
        described = self.layer.last_buffer()
        if not described.exportable:
            raise SharingFailed("the Vulkan driver gave the buffer memory that cannot be exported")
        try:
            fd = self.layer.export(described.memory)
        except self.layer.LayerError as error:
            raise SharingFailed(str(error)) from error
        return buffer, self.driver.map(fd, described.memory_size)


@contextmanager
def loading() -> Iterator[None]:
    """Inside, the Vulkan loader finds the layer if sharing may be possible: wgpu's instance is to be made here."""
    try:
        layer = _layer()
    except SharingFailed:
        yield
    else:
        with layer.layer():
            yield


def connect(backend: str) -> Connection:
    """The connection for the device that this thread opened last, by `backend`.

    Raises `SharingFailed`, whose message says why memory of that device cannot be shared.
    """
    layer = _layer()
    if backend != "Vulkan":
        raise SharingFailed(f"the adapter in use is driven by {backend}; only Vulkan can share memory")
    try:
        device = layer.last_device()
    except layer.LayerError as error:
        raise SharingFailed(f"the Vulkan layer of vertigrad-cuda was not loaded: {error}") from error
    if not device.exports_memory:
        raise SharingFailed(f"the Vulkan driver of {device.name} cannot export memory")
    return Connection(layer, Host() if _setting() == "host" else cuda.Cuda(device.uuid))


def _layer() -> Any:
    """The module of the layer. Raises `SharingFailed` if it is of no use here."""
    if _setting() == "off":
        raise SharingFailed(f"{SETTING}=off")
    if _setting() != "host" and not cuda.is_present():
        raise SharingFailed(f"this machine has no CUDA driver ({cuda.LIBRARY})")
    try:
        layer = import_module("vertigrad_cuda")
    except ImportError as error:
        raise SharingFailed(f"the extra vertigrad[cuda] is not installed ({error})") from error
    try:
        layer.statistics()  # opens its library
    except layer.LayerError as error:
        raise SharingFailed(str(error)) from error
    return layer


def _setting() -> str:
    return os.environ.get(SETTING, "")
