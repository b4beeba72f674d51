"""Memory of the GPU that other frameworks see too: importing it, and whether that is possible here."""

from .connection import Connection, connect, loading
from .driver import Driver, Mapped, SharingFailed

__all__ = ["Connection", "Driver", "Mapped", "SharingFailed", "connect", "loading"]
