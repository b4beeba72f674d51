"""Shapes, strides and offsets: pure arithmetic on tuples. Strides are in bytes, as NumPy's."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..errors import ShapeError

Shape = tuple[int, ...]


class Layout(NamedTuple):
    """Shape, strides and offset of a tensor in its block."""

    shape: Shape
    strides: Shape
    offset: int


def checked(shape: Any) -> Shape:
    """`shape` as a tuple of Python's integers; one integer means one axis. Raises `ShapeError`."""
    try:
        sizes = tuple(operator.index(n) for n in (shape if isinstance(shape, Iterable) else (shape,)))
    except TypeError:
        sizes = (-1,)
    if any(n < 0 for n in sizes):
        raise ShapeError(f"shape {shape!r} must be of integers, none negative")
    return sizes


def contiguous_strides(shape: Shape, itemsize: int) -> Shape:
    """Row-major strides in bytes."""
    strides, step = [], itemsize
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def is_contiguous(shape: Shape, strides: Shape, itemsize: int) -> bool:
    """Whether the elements are in row-major order without gaps."""
    if 0 in shape:
        return True
    expected = itemsize
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        if n != 1:
            if stride != expected:
                return False
            expected *= n
    return True


def byte_range(shape: Shape, strides: Shape, offset: int, itemsize: int) -> tuple[int, int]:
    """(lowest byte, bytes to the end of the highest element) that a layout covers."""
    if 0 in shape:
        return offset, 0
    low = sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s < 0)
    high = sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s > 0)
    return offset + low, high - low + itemsize


def broadcast_shapes(*shapes: Shape) -> Shape:
    """The common shape by NumPy's rules. Raises `ShapeError`."""
    rank = max((len(shape) for shape in shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    result = []
    for sizes in zip(*padded, strict=True):
        wide = {n for n in sizes if n != 1}
        if len(wide) > 1:
            raise ShapeError(f"shapes {' and '.join(map(str, shapes))} do not broadcast together")
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def expand(layout: Layout, shape: Shape) -> Layout:
    """`layout` repeated to `shape` without copying: stride 0 where an axis of 1 grows. Raises `ShapeError`."""
    missing = len(shape) - len(layout.shape)
    old_shape = (1,) * missing + layout.shape
    old_strides = (0,) * missing + layout.strides
    if missing < 0 or any(n not in (1, m) for n, m in zip(old_shape, shape, strict=True)):
        raise ShapeError(f"shape {layout.shape} does not expand to {shape}")
    strides = tuple(0 if n != m else s for n, m, s in zip(old_shape, shape, old_strides, strict=True))
    return Layout(shape, strides, layout.offset)


def index(layout: Layout, key: Any) -> Layout:
    """The view `key` selects: integers, slices, `...` and None, as NumPy's basic indexing. Raises `ShapeError`."""
    keys = list(key) if isinstance(key, tuple) else [key]
    used = sum(1 for k in keys if k is not None and k is not Ellipsis)
    if sum(1 for k in keys if k is Ellipsis) > 1:
        raise ShapeError("only one ... in an index")
    if used > len(layout.shape):
        raise ShapeError(f"{used} indices for shape {layout.shape}")
    if not any(k is Ellipsis for k in keys):
        keys.append(Ellipsis)
    at = next(i for i, k in enumerate(keys) if k is Ellipsis)
    keys[at : at + 1] = [slice(None)] * (len(layout.shape) - used)
    shape: list[int] = []
    strides: list[int] = []
    offset, axis = layout.offset, 0
    for k in keys:
        if k is None:
            shape.append(1)
            strides.append(0)
            continue
        n, stride = layout.shape[axis], layout.strides[axis]
        if isinstance(k, slice):
            start, stop, step = k.indices(n)
            count = len(range(start, stop, step))
            offset += start * stride if count else 0
            shape.append(count)
            strides.append(stride * step)
        else:
            offset += _checked(k, n, axis) * stride
        axis += 1
    return Layout(tuple(shape), tuple(strides), offset)


def permute(layout: Layout, axes: tuple[int, ...]) -> Layout:
    """Axes in another order. Raises `ShapeError` unless `axes` names each once."""
    rank = len(layout.shape)
    target = tuple(a % rank if -rank <= a < rank else a for a in axes)
    if sorted(target) != list(range(rank)):
        raise ShapeError(f"axes {axes} do not name each of {rank} axes once")
    return Layout(tuple(layout.shape[a] for a in target), tuple(layout.strides[a] for a in target), layout.offset)


def reshape(layout: Layout, shape: Shape, itemsize: int) -> Layout:
    """The same elements in another shape, as a view; one size may be −1.

    Raises `ShapeError` if the count differs, or if no strides describe the result: that needs a copy.
    """
    size = math.prod(layout.shape)
    target = resolve(shape, size)
    if is_contiguous(layout.shape, layout.strides, itemsize):
        return Layout(target, contiguous_strides(target, itemsize), layout.offset)
    sizes, (steps,) = merge_axes(layout.shape, [layout.strides])
    strides = _split(list(zip(sizes, steps, strict=True)), target)
    if strides is None:
        raise ShapeError(
            f"shape {layout.shape} with strides {layout.strides} has no view of shape {target}; "
            "use .contiguous().reshape(...), which copies"
        )
    return Layout(target, strides, layout.offset)


def unpacked(sizes: Sequence[Any]) -> Shape:
    """What a method was given as `x.f(2, 3)` or as `x.f((2, 3))`. Raises `ShapeError` unless all are integers."""
    each = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], Sequence) else sizes
    try:
        return tuple(operator.index(n) for n in each)
    except TypeError:
        raise ShapeError(f"expected integers, or one sequence of them, got {tuple(sizes)}") from None


def resolve(shape: Shape, size: int) -> Shape:
    """`shape` with its −1 inferred from `size` elements. Raises `ShapeError`."""
    if sum(1 for n in shape if n == -1) > 1 or any(n < -1 for n in shape):
        raise ShapeError(f"shape {shape} must have at most one -1 and no other negative size")
    known = math.prod(n for n in shape if n != -1)
    target = tuple(size // known if n == -1 and known else n for n in shape)
    if -1 in target or math.prod(target) != size:
        raise ShapeError(f"{size} elements do not make shape {shape}")
    return target


def _checked(k: Any, n: int, axis: int) -> int:
    try:
        i = operator.index(k)
    except TypeError:
        i = None
    if i is None or isinstance(k, bool):  # True would be a mask in NumPy, not 1
        raise ShapeError(
            f"cannot index with {type(k).__name__}; a view takes integers, slices, ... and None "
            "(for a tensor of indices use vertigrad.ops.take)"
        )
    if not -n <= i < n:
        raise ShapeError(f"index {i} is outside axis {axis} of size {n}")
    return i % n


def merge_axes(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple[list[int], list[list[int]]]:
    """Merge neighboring axes where the strides of every operand allow it, and drop axes of 1.

    `strides` has one row per operand. Returns the shorter shape and rows.
    """
    merged: list[int] = []
    rows: list[list[int]] = [[] for _ in strides]
    for axis, n in enumerate(shape):
        if n == 1:
            continue
        if merged and all(row[-1] == n * full[axis] for row, full in zip(rows, strides, strict=True)):
            merged[-1] *= n
            for row, full in zip(rows, strides, strict=True):
                row[-1] = full[axis]
        else:
            merged.append(n)
            for row, full in zip(rows, strides, strict=True):
                row.append(full[axis])
    return merged, rows


def _split(axes: list[tuple[int, int]], shape: Shape) -> Shape | None:
    """Strides of `shape` over the merged `axes`; None if a new axis would straddle two of them."""
    strides: list[int] = []
    left = list(reversed(axes))
    size, stride = left.pop(0) if left else (1, 0)
    for n in reversed(shape):
        if n == 1:
            strides.append(0)
            continue
        if size == 1 and left:
            size, stride = left.pop(0)
        if size % n:
            return None
        strides.append(stride)
        size, stride = size // n, stride * n
    return tuple(reversed(strides))
