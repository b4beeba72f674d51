"""CUDA's driver API by ctypes: the primary context, which is the one that PyTorch, JAX and CuPy use.

The calls and structures are those of NVIDIA's CUDA Driver API, section "External Resource Interoperability".
"""

from __future__ import annotations

import ctypes
import logging
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .driver import SharingFailed

LIBRARY = "libcuda.so.1"
DLPACK_CUDA = 2
_OPAQUE_FD = 1  # CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD
_OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY


class _MemoryDescription(ctypes.Structure):
    """CUDA_EXTERNAL_MEMORY_HANDLE_DESC; the handle is a union of 16 bytes."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("handle", ctypes.c_int * 5),
        ("size", ctypes.c_uint64),
        ("flags", ctypes.c_uint),
        ("reserved", ctypes.c_uint * 16),
    )


class _BufferDescription(ctypes.Structure):
    """CUDA_EXTERNAL_MEMORY_BUFFER_DESC."""

    _fields_ = (
        ("offset", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("flags", ctypes.c_uint),
        ("reserved", ctypes.c_uint * 16),
    )


def is_present() -> bool:
    """Whether this machine has CUDA's driver."""
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        return False
    return True


class Cuda:
    """The CUDA device whose UUID is that of the Vulkan device."""

    def __init__(self, uuid: bytes):
        """Raises `SharingFailed` if no CUDA device has this `uuid` of 16 bytes."""
        self._library = ctypes.CDLL(LIBRARY)
        self._check("cuInit", 0)
        count = ctypes.c_int()
        self._check("cuDeviceGetCount", ctypes.byref(count))
        ordinals = {self._uuid(number): number for number in range(count.value)}
        if uuid not in ordinals:
            raise SharingFailed(f"the adapter in use is none of the {count.value} CUDA devices")
        self.device = DLPACK_CUDA, ordinals[uuid]
        handle, self._context = ctypes.c_int(), ctypes.c_void_p()
        self._check("cuDeviceGet", ctypes.byref(handle), ordinals[uuid])
        self._check("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), handle)

    def map(self, fd: int, nbytes: int) -> Imported:
        """The memory behind `fd`. CUDA owns the descriptor from here on, also after a failure: it closes it itself."""
        memory, pointer = ctypes.c_void_p(), ctypes.c_uint64()
        described = _MemoryDescription(type=_OPAQUE_FD, size=nbytes)
        described.handle[1] = fd  # the union is aligned to 8 bytes
        whole = _BufferDescription(offset=0, size=nbytes)
        with self._current():
            self._check("cuImportExternalMemory", ctypes.byref(memory), ctypes.byref(described))
            try:
                self._check("cuExternalMemoryGetMappedBuffer", ctypes.byref(pointer), memory, ctypes.byref(whole))
            except (SharingFailed, MemoryError):
                self._check("cuDestroyExternalMemory", memory)
                raise
        return Imported(self, memory, pointer)

    def unmap(self, memory: Any, pointer: Any) -> None:
        """Give imported memory back, after the work that is queued. After a failed context there is nothing to do."""
        try:
            with self._current():
                self._check("cuCtxSynchronize")
                self._check("cuMemFree_v2", pointer)
                self._check("cuDestroyExternalMemory", memory)
        except SharingFailed as error:
            logging.getLogger("vertigrad").warning("memory shared with CUDA was not given back: %s", error)

    def copy(self, source: int, target: int, nbytes: int) -> None:
        """Copy on the legacy default stream, behind what other blocking streams have queued."""
        with self._current():
            self._check("cuMemcpyDtoD_v2", ctypes.c_uint64(target), ctypes.c_uint64(source), ctypes.c_size_t(nbytes))
            self._check("cuCtxSynchronize")

    def wait(self) -> None:
        """Block until all streams of the context are done."""
        with self._current():
            self._check("cuCtxSynchronize")

    def _uuid(self, number: int) -> bytes:
        handle, raw = ctypes.c_int(), (ctypes.c_uint8 * 16)()
        self._check("cuDeviceGet", ctypes.byref(handle), number)
        self._check("cuDeviceGetUuid_v2", raw, handle)
        return bytes(raw)

    @contextmanager
    def _current(self) -> Iterator[None]:
        self._check("cuCtxPushCurrent_v2", self._context)
        try:
            yield
        finally:
            self._check("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def _check(self, function: str, *arguments: Any) -> None:
        code = getattr(self._library, function)(*arguments)
        if code == _OUT_OF_MEMORY:
            raise MemoryError(f"{function}: CUDA is out of memory")
        if code:
            text = ctypes.c_char_p()
            self._library.cuGetErrorName(code, ctypes.byref(text))
            raise SharingFailed(f"{function} failed: {(text.value or b'unknown').decode()} ({code})")


class Imported:
    """Memory imported into CUDA. The bytes exist until both sides have let go of them."""

    def __init__(self, cuda: Cuda, memory: Any, pointer: Any):
        self.pointer = int(pointer.value)
        weakref.finalize(self, cuda.unmap, memory, pointer).atexit = False
