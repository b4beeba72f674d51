"""`from_dlpack`: tensors of the arrays of other frameworks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import DtypeError, LayoutError
from ..gpu import Traffic, gpu
from ..gpu.meter import Direction
from . import dtype as dtypes
from .dtype import dtype_of
from .frameworks import CPU, note_once
from .tensor import Tensor

_HOST_DEVICES = (CPU, 3, 11)  # and memory of the host that CUDA and ROCm have pinned
_TO_HOST = ("cpu", "get", "numpy", "__array__")  # how PyTorch, CuPy, Warp and JAX copy to the host


def from_dlpack(source: Any, name: str = "") -> Tensor:
    """A tensor of the values of `source`, which is any array with `__dlpack__`: NumPy, PyTorch, JAX, CuPy, Warp, ...

    A `Tensor` gives a view of itself. An array on the host is borrowed as by `from_blob`, O(1) for any size, and stays
    alive while the tensor needs it; one that is not C-contiguous, and booleans, are copied. One on a device goes
    through the host: counted as device to host here and as host to device when it is used. Raises `DtypeError` for
    element types without a counterpart (64-bit ones: convert them yourself), `LayoutError` for what is not an array.
    """
    if isinstance(source, Tensor):
        return source.detach()
    if not hasattr(source, "__dlpack__"):
        raise LayoutError(f"from_dlpack: {type(source).__name__} has no __dlpack__; pass an array, or use from_numpy")
    on_host = source.__dlpack_device__()[0] in _HOST_DEVICES
    array = _exported(source) if on_host else _copied_to_host(source)
    if array.flags.c_contiguous and dtype_of(array.dtype) is not dtypes.bool_:
        return Tensor.from_blob(array, name=name)
    return Tensor.from_numpy(array, name)


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
