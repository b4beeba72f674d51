"""What the kernels of `ops` share: operands made ready, axes merged, strides in elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import ShapeError
from ..tensor import Layout, Tensor

MAX_RANK = 8


def element_strides(layout: Layout, itemsize: int) -> tuple[int, ...]:
    """Strides in elements instead of bytes."""
    return tuple(stride // itemsize for stride in layout.strides)


def padded(values: Sequence[int], fill: int) -> list[int]:
    """`values` filled up to the eight that a uniform holds. Raises `ShapeError` beyond."""
    if len(values) > MAX_RANK:
        raise ShapeError(f"{len(values)} axes that cannot be merged; kernels take {MAX_RANK}")
    return [*values, *[fill] * (MAX_RANK - len(values))]


def merge_axes(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple[list[int], list[list[int]]]:
    """Join neighbouring axes that lie evenly in every operand, and drop axes of 1.

    `strides` has one row per operand, in elements. Returns the shorter shape and rows.
    """
    kept: list[int] = []
    rows: list[list[int]] = [[] for _ in strides]
    for axis, n in enumerate(shape):
        if n == 1:
            continue
        if kept and all(row[-1] == n * full[axis] for row, full in zip(rows, strides, strict=True)):
            kept[-1] *= n
            for row, full in zip(rows, strides, strict=True):
                row[-1] = full[axis]
        else:
            kept.append(n)
            for row, full in zip(rows, strides, strict=True):
                row.append(full[axis])
    return kept, rows


def normal_axes(axis: int | tuple[int, ...] | None, rank: int) -> tuple[int, ...]:
    """`axis` as sorted axis numbers from 0; None means all. Raises `ShapeError`."""
    if axis is None:
        return tuple(range(rank))
    wanted = (axis,) if isinstance(axis, int) else tuple(axis)
    if any(not -rank <= a < rank for a in wanted):
        raise ShapeError(f"axis {axis} is outside of {rank} axes")
    axes = sorted(a % rank for a in wanted)
    if len(set(axes)) != len(axes):
        raise ShapeError(f"axis {axis} names an axis twice")
    return tuple(axes)


def is_number(value: Any) -> bool:
    """Whether `value` is a Python or NumPy number, to be passed as a uniform."""
    return not isinstance(value, Tensor) and hasattr(value, "__float__") and getattr(value, "ndim", 0) == 0
