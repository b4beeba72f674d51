"""`Driver`: what imports exported memory into the address space of a framework."""

from __future__ import annotations

from typing import Protocol


class SharingFailed(Exception):
    """Memory cannot be shared; the message says why."""


class Mapped(Protocol):
    """One exported memory as a framework sees it; it stays valid while this object exists."""

    pointer: int  # address of the first byte


class Driver(Protocol):
    """The frameworks' side of the memory: CUDA, or the host for a software adapter."""

    @property
    def device(self) -> tuple[int, int]:
        """DLPack's device type and number."""
        ...

    def map(self, fd: int, nbytes: int) -> Mapped:
        """Take over the file descriptor `fd` of `nbytes` of memory. Raises `MemoryError`, `SharingFailed`."""
        ...

    def copy(self, source: int, target: int, nbytes: int) -> None:
        """Copy `nbytes` between two addresses on the device, and wait. Raises `SharingFailed`."""
        ...

    def wait(self) -> None:
        """Block until all work that frameworks have queued is done. Raises `SharingFailed` if some of it failed."""
        ...
