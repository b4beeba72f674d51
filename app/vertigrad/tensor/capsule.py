"""DLPack's capsules by ctypes: reading those of other frameworks, and making them for shared memory.

The structures are those of dlpack.h, version 1.0 (https://dmlc.github.io/dlpack).
"""

from __future__ import annotations

import atexit
import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..errors import DtypeError
from .shape import contiguous_strides

_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}  # DLDataTypeCode by NumPy's kind
_WITHOUT_COUNTERPART = {3: "opaque", 4: "bfloat", 5: "complex"}  # by DLDataTypeCode
_KINDS = {code: kind for kind, code in _CODES.items()}
_VERSION = 1, 0


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    """DLManagedTensor, of the capsule "dltensor"."""

    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter))


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned, of the capsule "dltensor_versioned"."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", _Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


class Strided(NamedTuple):
    """Elements in memory of the device `device` (DLPack's type and number); `strides` are bytes."""

    pointer: int
    device: tuple[int, int]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype


class _Exported(NamedTuple):
    """What a capsule's consumer refers to: it is to stay in place until the consumer calls the deleter."""

    managed: _Managed | _Versioned
    arrays: tuple[Any, Any]
    release: Callable[[], object]


_exported: dict[int, _Exported] = {}  # by the address of the structure


@_Deleter
def _delete(address: int) -> None:
    exported = _exported.pop(address, None)
    if exported is not None:
        exported.release()


@_Deleter
def _drop_capsule(capsule: int) -> None:
    """The destructor of a capsule, with whatever nobody took out of it."""
    for name in (b"dltensor", b"dltensor_versioned"):
        if _is_valid(capsule, name):
            _delete(_pointer(capsule, name))


def capsule(source: Strided, versioned: bool, release: Callable[[], object]) -> Any:
    """A capsule of `source`. `release` is called, in any thread, when its consumer no longer needs the memory."""
    count = len(source.shape)
    shape = (ctypes.c_int64 * count)(*source.shape)
    strides = (ctypes.c_int64 * count)(*(stride // source.dtype.itemsize for stride in source.strides))
    bits = source.dtype.itemsize * 8
    tensor = _Tensor(source.pointer, *source.device, count, _CODES[source.dtype.kind], bits, 1, shape, strides, 0)
    managed = _Versioned(*_VERSION, None, _delete, 0, tensor) if versioned else _Managed(tensor, None, _delete)
    address = ctypes.addressof(managed)
    _exported[address] = _Exported(managed, (shape, strides), release)
    return _new(address, b"dltensor_versioned" if versioned else b"dltensor", _drop_capsule)


def read(capsule: Any) -> Strided:
    """What is in the unversioned capsule of another framework, which is to keep it while the result is used.

    Raises `DtypeError` for element types without a counterpart in NumPy.
    """
    tensor = _Managed.from_address(_pointer(id(capsule), b"dltensor")).tensor
    if tensor.code not in _KINDS or tensor.lanes != 1:
        kind = _WITHOUT_COUNTERPART.get(tensor.code, f"type {tensor.code}, ")
        raise DtypeError(f"from_dlpack: {kind}{tensor.bits} has no counterpart here: convert it first")
    dtype = np.dtype(f"{_KINDS[tensor.code]}{tensor.bits // 8}")
    shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    if tensor.strides:
        strides = tuple(tensor.strides[axis] * dtype.itemsize for axis in range(tensor.ndim))
    else:
        strides = contiguous_strides(shape, dtype.itemsize)
    pointer = (tensor.data or 0) + tensor.byte_offset
    return Strided(pointer, (tensor.device_type, tensor.device_id), shape, strides, dtype)


@atexit.register
def _leave_to_the_system() -> None:
    """At exit other libraries may let go of memory after Python has ended: they are not to call back then."""
    for exported in _exported.values():
        exported.managed.deleter = _Deleter()
        _keep(exported)  # for good: consumers still read the structure


def _of_python(name: str, result: Any, *arguments: Any) -> Any:
    """A function of Python's C interface of our own: of those in `ctypes.pythonapi` any library may set the types."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_new = _of_python("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, _Deleter)
_pointer = _of_python("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
_is_valid = _of_python("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_keep = _of_python("Py_IncRef", None, ctypes.py_object)
