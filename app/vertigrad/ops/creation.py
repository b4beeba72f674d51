"""Tensors of one value, and grids of coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import ShapeError
from ..tensor import Tensor, dtype_of, f32
from ..tensor.dtype import check_value
from . import launch
from .define import Operand
from .elementwise import assign

Shape = int | Sequence[int]


def zeros(shape: Shape, dtype: Any = f32) -> Tensor:
    """A tensor of zeros."""
    return full(shape, 0, dtype)


def ones(shape: Shape, dtype: Any = f32) -> Tensor:
    """A tensor of ones."""
    return full(shape, 1, dtype)


def full(shape: Shape, fill_value: float, dtype: Any = f32) -> Tensor:
    """A tensor of `fill_value`. Raises `DtypeError` if the type cannot hold it."""
    kind = dtype_of(dtype)
    check_value(fill_value, kind)
    return assign(Tensor.empty(shape, kind, temporary=True), fill_value)


def zeros_like(a: Tensor, dtype: Any = None) -> Tensor:
    """A tensor of zeros of the shape of `a`, and of its element type unless `dtype` is given."""
    return full_like(a, 0, dtype)


def ones_like(a: Tensor, dtype: Any = None) -> Tensor:
    """A tensor of ones, as `zeros_like`."""
    return full_like(a, 1, dtype)


def full_like(a: Tensor, fill_value: float, dtype: Any = None) -> Tensor:
    """A tensor of `fill_value`, as `zeros_like`."""
    return full(a.shape, fill_value, a.dtype if dtype is None else dtype)


def meshgrid(*coordinates: Operand, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Coordinate grids of vectors, as `numpy.meshgrid`: contiguous copies, the first two axes swapped for "xy".

    Raises `ShapeError`.
    """
    if indexing not in ("xy", "ij"):
        raise ShapeError(f'meshgrid: indexing is "xy" or "ij", not {indexing!r}')
    with launch.operands(*coordinates) as vectors:
        if any(vector.ndim > 1 for vector in vectors):
            raise ShapeError(f"meshgrid: shapes {[vector.shape for vector in vectors]}; all must be vectors")
        order = list(range(len(vectors)))
        if indexing == "xy" and len(order) > 1:
            order[:2] = 1, 0
        shape = [0] * len(vectors)
        for vector, axis in zip(vectors, order, strict=True):
            shape[axis] = vector.size
        grids = []
        for vector, axis in zip(vectors, order, strict=True):
            column = vector.reshape(*[-1 if i == axis else 1 for i in range(len(shape))])
            grids.append(column.expand(*shape).contiguous())
        return tuple(grids)
