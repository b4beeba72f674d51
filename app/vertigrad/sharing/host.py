"""The host as the other side: a software adapter's exported memory can be mapped, so that sharing is testable."""

from __future__ import annotations

import ctypes
import mmap
import os
import struct

from .driver import SharingFailed

DLPACK_CPU = 1


class Host:
    """The memory of a software adapter in this process: what NumPy, and frameworks on the CPU, see."""

    device = DLPACK_CPU, 0

    def map(self, fd: int, nbytes: int) -> Pages:
        """The pages behind `fd`, which is closed."""
        try:
            return Pages(mmap.mmap(fd, os.fstat(fd).st_size), nbytes)
        except (OSError, ValueError) as error:
            raise SharingFailed(f"the exported memory cannot be mapped: {error}") from error
        finally:
            os.close(fd)

    def copy(self, source: int, target: int, nbytes: int) -> None:
        """Copy now."""
        ctypes.memmove(target, source, nbytes)

    def wait(self) -> None:
        """Nothing to wait for: the host has done what it was told."""


class Pages:
    """Mapped pages, unmapped when this object is collected.

    Mesa's software driver puts a header before the memory: the size of all, and where the memory begins
    (src/util/os_memory_fd.c).
    """

    def __init__(self, pages: mmap.mmap, nbytes: int):
        size, start = struct.unpack_from("QQ", pages)
        if size != len(pages) or start + nbytes > size:
            raise SharingFailed(f"the exported memory has {len(pages)} bytes in a layout that is not known")
        self.pointer = ctypes.addressof(ctypes.c_char.from_buffer(pages, start))  # which holds the pages
        self._pages = pages
