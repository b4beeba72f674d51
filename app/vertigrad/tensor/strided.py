"""`Strided`: what follows from shape, strides, offset and element type of a tensor alone."""

from __future__ import annotations

import math
from functools import cached_property

from ..errors import ShapeError
from . import shape as shapes
from .dtype import DType
from .shape import Layout


class Strided:
    """A strided layout of elements in a block: `shape` counts elements, `strides` and `offset` are bytes."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    dtype: DType

    @property
    def layout(self) -> Layout:
        """Shape, strides and offset together."""
        return Layout(self.shape, self.strides, self.offset)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @cached_property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def scalar(self) -> str:
        """The WGSL scalar its block is an array of."""
        return self.dtype.scalar

    @cached_property
    def is_contiguous(self) -> bool:
        """Whether the elements are in row-major order without gaps."""
        return shapes.is_contiguous(self.shape, self.strides, self.dtype.itemsize)

    @property
    def start(self) -> int:
        """Lowest byte of the block that belongs to an element."""
        return self._byte_range[0]

    @property
    def extent(self) -> int:
        """Bytes from `start` to the end of the highest element."""
        return self._byte_range[1]

    @cached_property
    def _byte_range(self) -> tuple[int, int]:
        return shapes.byte_range(self.shape, self.strides, self.offset, self.dtype.itemsize)

    def __len__(self) -> int:
        if not self.shape:
            raise ShapeError("a tensor without axes has no length")
        return self.shape[0]
