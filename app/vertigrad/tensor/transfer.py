"""Bytes between host and tensor: uploads, and readings that arrive later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DtypeError, ShapeError, StillInUse
from ..gpu import Traffic, gpu
from ..gpu.readback import Reading
from ..memory import Borrow
from . import dtype as dtypes
from .dtype import DType, dtype_of
from .shape import Shape, resolve

if TYPE_CHECKING:
    from .tensor import Tensor

FEATURES = {dtypes.f16: "shader-f16", dtypes.f64: "shader-f64"}  # what an adapter must have to compute with them


def host_array(source: Any) -> tuple[np.ndarray, DType]:
    """`source` as a C-contiguous array in the form it has on the GPU, and its element type.

    Raises `DtypeError` if NumPy's type has no counterpart: nothing is narrowed in silence.
    """
    array = _of_numbers(source) if isinstance(source, list | tuple | int | float) else np.asarray(source)
    dtype = dtype_of(array.dtype)
    require(dtype)
    if dtype is dtypes.bool_:
        array = array.astype(np.uint32)
    return np.ascontiguousarray(array).reshape(array.shape), dtype


def _of_numbers(source: Any) -> np.ndarray:
    """Python's numbers, which NumPy makes 64 bits wide, as f32, i32 or u32; anything else as it is."""
    array = np.asarray(source)
    candidates = (
        {"i": (np.int32, np.uint32), "f": (np.float32,)}.get(array.dtype.kind, ()) if array.itemsize == 8 else ()
    )
    for narrow in candidates:
        limits = np.finfo(narrow) if array.dtype.kind == "f" else np.iinfo(narrow)
        finite = array[np.isfinite(array)]
        if not finite.size or (limits.min <= finite.min() and finite.max() <= limits.max):
            return array.astype(narrow)
    return array


def blob_type(borrow: Borrow, dtype: Any, shape: Sequence[int] | None) -> tuple[DType, Shape]:
    """Element type and shape for borrowed bytes; those of the source by default.

    Raises `DtypeError` or `ShapeError` if the bytes do not make such a tensor.
    """
    own = _format_type(borrow.format)
    kind = dtype_of(own if dtype is None else dtype)
    require(kind)
    if kind is dtypes.bool_ and own == np.bool_:
        raise DtypeError(
            "from_blob: bool takes 4 bytes here and 1 in NumPy; borrow it as dtype='u8', or use from_numpy"
        )
    if borrow.nbytes % kind.itemsize:
        raise ShapeError(f"from_blob: {borrow.nbytes} bytes are not a multiple of {kind.itemsize}, the size of {kind}")
    size = borrow.nbytes // kind.itemsize
    if shape is None:
        return kind, borrow.shape if dtype is None else (size,)
    return kind, resolve(tuple(shape), size)


def _format_type(code: str) -> np.dtype:
    """NumPy's element type for a format code of the buffer protocol; void if there is none."""
    try:
        return np.dtype(code)
    except (TypeError, ValueError):
        return np.dtype(np.void)


def require(dtype: DType) -> None:
    """Raise `DtypeError` if this adapter cannot compute with `dtype`."""
    feature = FEATURES.get(dtype)
    if feature is not None and feature not in gpu().features:
        raise DtypeError(f"{dtype} needs the feature {feature}, which {gpu().adapter} lacks; use f32")


def _require_values(tensor: Tensor) -> None:
    """Raise `StillInUse` while a plan is recorded, or before its first replay: there are no values yet."""
    if gpu().recording is not None:
        raise StillInUse(
            f"tensor {tensor.name or 'unnamed'!r} cannot be read back while a plan is recorded: its values are there "
            "after replay(); read constants before recording"
        )
    tensor.owner.require_values()


class Readback:
    """A transfer of a tensor's values to the host. `done` turns true some frames later; `result` waits if it must."""

    def __init__(self, tensor: Tensor, traffic: Traffic):
        self._shape, self._strides, self._dtype = tensor.shape, tensor.strides, tensor.dtype
        start = tensor.start // 4 * 4
        self._first = tensor.offset - start
        nbytes = -(-(tensor.start - start + tensor.extent) // 4) * 4
        self._reading: Reading | None = None
        self._data: memoryview | None = None
        block = tensor.owner.block
        if block.storage is None and block.borrow is not None:  # still on the host: nothing to read back
            self._data = memoryview(bytes(block.borrow.bytes()[start : start + nbytes]))
        elif tensor.size:
            _require_values(tensor)
            self._reading = gpu().recorder.read(block, start, nbytes, traffic)

    @property
    def done(self) -> bool:
        """Whether `result` will not wait."""
        return self._reading is None or self._reading.done

    @property
    def dropped(self) -> bool:
        """Whether the values never come: the commands that would have read them were dropped after an error."""
        return self._reading is not None and self._reading.dropped

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
        if not reading.done and reading.mapping is None:
            gpu().submit()
        return gpu().readback.wait(reading)
