"""Float64 arrays on the GPU, for networks that have them: `Tensor.from_numpy` refuses those of users."""

from __future__ import annotations

import numpy as np

from .dtype import f64, u32
from .shape import Layout, contiguous_strides
from .tensor import Tensor
from .transfer import require


def from_doubles(array: np.ndarray, name: str = "") -> Tensor:
    """A copy of a float64 array as f64. Raises `DtypeError` where the adapter lacks shader-f64."""
    require(f64)
    words = np.ascontiguousarray(array, np.float64).reshape(-1).view(np.uint32)
    with Tensor.from_numpy(words, name) as pairs:
        layout = Layout(array.shape, contiguous_strides(array.shape, f64.itemsize), 0)
        return Tensor(pairs.owner.hold(), layout, f64, name, False)


def on_gpu(array: np.ndarray, name: str = "") -> Tensor:
    """As `Tensor.from_numpy`, and float64 as it is."""
    return from_doubles(array, name) if array.dtype == np.float64 else Tensor.from_numpy(array, name)


def words_of(tensor: Tensor) -> Tensor:
    """The bits of f64 as u32 along a new last axis, the lower word first; a view."""
    shape, strides, offset = tensor.layout
    return Tensor(tensor.owner.hold(), Layout((*shape, 2), (*strides, 4), offset), u32, tensor.name, True)
