"""Picking elements by tensors of indices.

Indices count from the end where they are negative. The GPU cannot raise: where an index is outside of its axis the
result is NaN if it is a float, 0 or false if not. Indices given as a list or an array are checked before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..errors import DtypeError, ShapeError
from ..gpu import Kernel
from ..tensor import Tensor, broadcast_shapes
from . import launch
from .differentiable import differentiable
from .functions import Operand

_NAN_BITS = 0x7FC00000


@differentiable
def take(a: Operand, indices: Any, axis: int | None = None, *, out: Tensor | None = None) -> Tensor:
    """Elements of `a` along `axis` at `indices`: the axes of `indices` take the place of `axis`.

    Without `axis`, of all elements of `a` in row-major order (it is copied for that if it is not contiguous).
    Raises `ShapeError`, and `DtypeError` if the indices are no integers.
    """
    with launch.tensors(a) as (array,):
        source = array if axis is not None else array.contiguous().reshape(-1)
        at = launch.normal_axis(axis or 0, source.ndim)
        with index_tensor(indices, source.shape[at]) as index:
            shape = (*source.shape[:at], *index.shape, *source.shape[at + 1 :])
            out = launch.prepare_output("take", shape, source.dtype, out)
            source, index = launch.copy_if_aliased(source, out), launch.copy_if_aliased(index, out)
            strides = launch.element_strides(source)
            source_strides = (*strides[:at], *[0] * index.ndim, *strides[at + 1 :])
            index_strides = (*[0] * at, *launch.element_strides(index), *[0] * (source.ndim - at - 1))
            _launch(source, at, index, out, source_strides, index_strides)
    return out


@differentiable
def take_along_axis(a: Operand, indices: Any, axis: int, *, out: Tensor | None = None) -> Tensor:
    """For each line of `a` along `axis`, its elements at the indices in the same line of `indices`.

    Both have the same number of axes; all but `axis` are broadcast. Raises `ShapeError`, `DtypeError` as `take` does.
    """
    with launch.tensors(a) as (source,):
        at = launch.normal_axis(axis, source.ndim)
        with index_tensor(indices, source.shape[at]) as index:
            if index.ndim != source.ndim:
                raise ShapeError(f"take_along_axis: {index.ndim} axes of indices for {source.ndim} of the tensor")
            lines = broadcast_shapes(_with(source.shape, at, 1), _with(index.shape, at, 1))
            shape = _with(lines, at, index.shape[at])
            out = launch.prepare_output("take_along_axis", shape, source.dtype, out)
            source, index = launch.copy_if_aliased(source, out), launch.copy_if_aliased(index, out)
            source_strides = _with(launch.element_strides(source), at, 0)
            _launch(source, at, index, out, source_strides, launch.element_strides(index.expand(*shape)))
    return out


def _with(values: Sequence[int], at: int, value: int) -> tuple[int, ...]:
    return (*values[:at], value, *values[at + 1 :])


@contextmanager
def index_tensor(indices: Any, size: int) -> Iterator[Tensor]:
    """`indices` into an axis of `size` as a tensor of integers; a list or an array is checked and uploaded."""
    if isinstance(indices, Tensor):
        if indices.dtype.kind not in ("int", "uint"):
            raise DtypeError(f"indices must be integers, not {indices.dtype}")
        yield indices
        return
    host = np.asarray(indices)
    if host.size and host.dtype.kind not in "iu":
        raise DtypeError(f"indices must be integers, not {host.dtype}")
    if host.size and not (-size <= host.min() and host.max() < size):
        raise ShapeError(f"indices from {host.min()} to {host.max()} reach outside of an axis of size {size}")
    with Tensor.from_numpy(host.astype(np.int32)) as uploaded:
        yield uploaded


def _launch(
    source: Tensor, at: int, index: Tensor, out: Tensor, source_strides: Sequence[int], index_strides: Sequence[int]
) -> None:
    """Record the gather; the strides are in elements, along the axes of `out`."""
    if not out.size:
        return
    if not source.shape[at]:
        raise ShapeError(f"elements wanted of a tensor of shape {source.shape}, which has none along axis {at}")
    strides = {"out": launch.element_strides(out), "source": source_strides, "indices": index_strides}
    rank, fields = launch.merged(out.shape, **strides)
    defines = {"DTYPE": source.dtype.name, "INDEX": index.dtype.name, "RANK": rank}
    kernel = Kernel.load("ops/gather.wgsl", defines=defines)
    kernel(
        out.size,
        overwrites=("out",),
        out=out,
        source=source,
        indices=index,
        count=out.size,
        axis_size=source.shape[at],
        axis_stride=launch.element_strides(source)[at],
        missing=_NAN_BITS,
        **fields,
    )
