"""`from_dlpack`: tensors of the arrays of other frameworks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import DtypeError, LayoutError
from ..gpu import Traffic, gpu
from ..gpu.meter import Direction
from . import dtype as dtypes
from .capsule import read
from .dtype import dtype_of
from .frameworks import CPU, note_once
from .shape import Layout, byte_range
from .tensor import Tensor

_HOST_DEVICES = (CPU, 3, 11)  # and memory of the host that CUDA and ROCm have pinned
_LEGACY_STREAM = 1  # DLPack's number of CUDA's legacy default stream
_TO_HOST = ("cpu", "get", "numpy", "__array__")  # how PyTorch, CuPy, Warp and JAX copy to the host


def from_dlpack(source: Any, name: str = "") -> Tensor:
    """A tensor of the values of `source`, which is any array with `__dlpack__`: NumPy, PyTorch, JAX, CuPy, Warp, ...

    A `Tensor` gives a view of itself. An array on the CUDA device of this GPU gives a view too if its memory is a
    shared tensor's, else one copy on the device into a new shared tensor, counted as device to device.

    One on the host is borrowed as by `from_blob`, O(1) for any size, and lives while the tensor needs it; one that
    is not C-contiguous, and booleans, are copied. One on another device goes through the host: counted as device
    to host here and as host to device when it is used. Raises `DtypeError` for element types without a counterpart
    (64-bit ones: convert them yourself), `LayoutError` for what is not an array.
    """
    if isinstance(source, Tensor):
        return source.detach()
    if not hasattr(source, "__dlpack__"):
        raise LayoutError(f"from_dlpack: {type(source).__name__} has no __dlpack__; pass an array, or use from_numpy")
    device = tuple(source.__dlpack_device__())
    if not gpu().frameworks.reason and device == gpu().frameworks.device:
        shared = _from_shared_device(source, name)
        if shared is not None:
            return shared
    on_host = device[0] in _HOST_DEVICES
    array = _exported(source) if on_host else _copied_to_host(source)
    if array.flags.c_contiguous and dtype_of(array.dtype) is not dtypes.bool_:
        return Tensor.from_blob(array, name=name)
    return Tensor.from_numpy(array, name)


def _from_shared_device(source: Any, name: str) -> Tensor | None:
    """A tensor of an array on the frameworks' side of this GPU; None for booleans, which take four bytes here,
    and for arrays of the host.
    """
    on_host = source.__dlpack_device__()[0] == CPU  # which has no streams
    capsule = source.__dlpack__() if on_host else source.__dlpack__(stream=_LEGACY_STREAM)
    array = read(capsule)
    if array.dtype == np.bool_:
        return None
    dtype, device = dtype_of(array.dtype), gpu()
    start, extent = byte_range(array.shape, array.strides, 0, dtype.itemsize)
    if extent and (found := device.frameworks.find(array.pointer + start, extent)):
        owner, offset = found
        return Tensor(owner, Layout(array.shape, array.strides, offset - start), dtype, name, temporary=True)
    if array.device[0] in _HOST_DEVICES:
        return None  # to be borrowed
    with Tensor.empty(extent // dtype.itemsize, dtype, name, shared=True) as flat:
        device.frameworks.copy_in(array.pointer + start, device.storage.mapped(flat.block.buffer), extent)
        device.meter.count(Direction.DEVICE_TO_DEVICE, extent)
        return Tensor(flat.owner.hold(), Layout(array.shape, array.strides, -start), dtype, name, temporary=False)


def _exported(source: Any) -> np.ndarray:
    try:
        return np.from_dlpack(source)
    except (BufferError, RuntimeError) as error:  # complex, bfloat16; PyTorch's with a graph of gradients
        raise DtypeError(f"from_dlpack: {type(source).__name__} cannot be exported: {error}") from error


def _copied_to_host(source: Any) -> np.ndarray:
    """The values of an array on a device. Raises `LayoutError` if it has no way to the host that is known."""
    note_once("from_dlpack of a device's array")
    for method in _TO_HOST:
        if hasattr(source, method):
            array = np.asarray(getattr(source, method)())
            gpu().meter.count(Direction.DEVICE_TO_HOST, array.nbytes, Traffic.GEOMETRY)
            return array
    raise LayoutError(
        f"from_dlpack: {type(source).__name__} is on another device and has none of {', '.join(_TO_HOST)} "
        "to copy it to the host; copy it yourself and use from_numpy"
    )
