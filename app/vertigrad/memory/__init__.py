"""Bytes on the GPU: blocks, who holds them, and when they may be used again. Knows no wgpu and no shapes."""

from .block import Block, Origin, State
from .borrow import Borrow
from .lifetime import LifetimeTracker
from .owner import Owner
from .pool import BufferPool, Storage, size_class

__all__ = [
    "Block",
    "Borrow",
    "BufferPool",
    "LifetimeTracker",
    "Origin",
    "Owner",
    "State",
    "Storage",
    "size_class",
]
