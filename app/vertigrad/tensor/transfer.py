"""Bytes between host and tensor: uploads, and readings that arrive later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DtypeError
from ..gpu import Traffic, gpu
from ..gpu.readback import Reading
from . import dtype as dtypes
from .dtype import DType, dtype_of

if TYPE_CHECKING:
    from .tensor import Tensor


def host_array(source: Any) -> tuple[np.ndarray, DType]:
    """`source` as a C-contiguous array in the form it has on the GPU, and its element type.

    Raises `DtypeError` if NumPy's type has no counterpart: nothing is narrowed in silence.
    """
    array = np.asarray(source)
    dtype = dtype_of(array.dtype)
    require(dtype)
    if dtype is dtypes.bool_:
        array = array.astype(np.uint32)
    return np.ascontiguousarray(array).reshape(array.shape), dtype


def require(dtype: DType) -> None:
    """Raise `DtypeError` if this adapter cannot compute with `dtype`."""
    if dtype is dtypes.f16 and "shader-f16" not in gpu().features:
        raise DtypeError(f"f16 needs the feature shader-f16, which {gpu().adapter} lacks; use f32")


class Readback:
    """A tensor's values on their way to the host. `done` turns true some frames later; `result` waits if it must."""

    def __init__(self, tensor: Tensor, traffic: Traffic):
        self._shape, self._strides, self._dtype = tensor.shape, tensor.strides, tensor.dtype
        start = tensor.start // 4 * 4
        self._first = tensor.offset - start
        nbytes = -(-(tensor.start - start + tensor.extent) // 4) * 4
        self._reading: Reading | None = None
        self._data: memoryview | None = None
        block = tensor.owner.block
        if block.storage is None and block.borrow is not None:  # still on the host: nothing to read back
            self._first, self._data = tensor.offset, block.borrow.bytes()
        elif tensor.size:
            self._reading = gpu().recorder.read(block, start, nbytes, traffic)

    @property
    def done(self) -> bool:
        """Whether `result` will not wait."""
        return self._reading is None or self._reading.done

    def result(self) -> np.ndarray:
        """The values as a NumPy array of the tensor's shape, writable and independent of it."""
        if 0 in self._shape:
            return np.empty(self._shape, self._dtype.numpy)
        data = self._data if self._reading is None else self._wait(self._reading)
        stored = np.dtype(np.uint32) if self._dtype is dtypes.bool_ else self._dtype.numpy
        view = np.ndarray(self._shape, stored, data, self._first, self._strides)
        return view != 0 if self._dtype is dtypes.bool_ else view.copy()

    @staticmethod
    def _wait(reading: Reading) -> memoryview:
        if not reading.done and reading.promise is None:
            gpu().submit()
        return gpu().readback.wait(reading)
