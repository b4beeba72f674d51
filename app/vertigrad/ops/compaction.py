"""What a mask chooses, moved together; how many that is stays on the GPU, where it can size a dispatch or a draw.

The functions here work now; `record_compact` and `record_nonzero` add the same to a plan, which holds the scratch
memory.
"""

from __future__ import annotations

import math
from typing import Any

from ..errors import DtypeError, ShapeError
from ..gpu import Kernel, Plan
from ..tensor import Tensor, i32, u32
from . import launch
from .differentiable import differentiable
from .functions import Operand
from .lines import Launch, words
from .scans import running_count


@differentiable
def compact(x: Operand, mask: Operand) -> tuple[Tensor, Tensor]:
    """The rows of `x` whose `mask` is not 0, in order, and how many they are: (values, count).

    The axes of `mask` are the first ones of `x`, as in NumPy's x[mask]; a row is what is left of them. `values` has
    room for all rows, shape (rows of `x`, ...): what lies behind the first `count` is not set. `count` is one u32.
    Raises `ShapeError`, and `DtypeError` unless elements of `x` have 32 bits.
    """
    with launch.tensors(x, mask) as (source, chosen):
        _check(source, chosen)
        rows, rest = chosen.size, source.shape[chosen.ndim :]
        values = Tensor.empty((rows, *rest), source.dtype, temporary=True)
        count = Tensor.empty(1, u32, temporary=True)
        _compact(Kernel.__call__, source, chosen, values, count)
    return values, count


def masked_select(x: Operand, mask: Operand) -> Tensor:
    """The rows of `x` whose `mask` is not 0, as NumPy's x[mask].

    Their number is read back, so it waits for the GPU; `compact` leaves it there. Raises as `compact`.
    """
    values, count = compact(x, mask)
    with count:
        return values[: int(count.item())]


@differentiable
def nonzero(x: Operand) -> tuple[Tensor, Tensor]:
    """Indices of the elements of `x` that are not 0, in row-major order, and their number: (indices, count).

    `indices` (i32) has a row for each, with an index for each axis, as `numpy.argwhere`; shape (elements of `x`, axes):
    what lies behind the first `count` rows is not set. `count` is one u32.
    """
    with launch.tensors(x) as (source,):
        indices = Tensor.empty((source.size, source.ndim), i32, temporary=True)
        count = Tensor.empty(1, u32, temporary=True)
        _nonzero(Kernel.__call__, source, indices, count)
    return indices, count


def record_compact(plan: Plan, x: Tensor, mask: Tensor, values: Tensor, count: Tensor) -> None:
    """Add to `plan` the rows of `x` that `mask` chooses, into contiguous `values`, their number into `count`.

    As `compact`; `values` has the shape of `x` with the axes of the mask as one. Raises also `LayoutError`.
    """
    _check(x, mask)
    launch.prepare_output("compact: values", (mask.size, *x.shape[mask.ndim :]), x.dtype, values)
    launch.prepare_output("compact: count", (1,), u32, count)
    _compact(plan.dispatch, x, mask, values, count)


def record_nonzero(plan: Plan, x: Tensor, indices: Tensor, count: Tensor) -> None:
    """Add to `plan` what `nonzero` does, into contiguous `indices` and `count`. Raises `ShapeError`, `DtypeError`."""
    launch.prepare_output("nonzero: indices", (x.size, x.ndim), i32, indices)
    launch.prepare_output("nonzero: count", (1,), u32, count)
    _nonzero(plan.dispatch, x, indices, count)


def _check(source: Tensor, mask: Tensor) -> None:
    if not mask.ndim or source.shape[: mask.ndim] != mask.shape:
        raise ShapeError(f"compact: a mask of shape {mask.shape} does not choose rows of shape {source.shape}")
    if source.itemsize != 4:
        raise DtypeError(f"compact: elements are {source.dtype}; they must have 32 bits: use .to() first")


def _compact(launch_: Launch, source: Tensor, mask: Tensor, values: Tensor, count: Tensor) -> None:
    shape, (strides,) = launch.merge_axes(source.shape, [launch.element_strides(source)])
    fields = {"shape": launch.padded(shape, 1), "source_strides": launch.padded(strides, 0)}
    width = math.prod(source.shape[mask.ndim :])
    with words(source) as bits, words(values) as compacted:
        _move(launch_, mask, count, len(shape), width=width, compacted=compacted, source=bits, **fields)


def _nonzero(launch_: Launch, source: Tensor, indices: Tensor, count: Tensor) -> None:
    fields = {"shape": launch.padded(source.shape, 1), "axes": source.ndim}
    with words(indices) as compacted:
        _move(launch_, source, count, None, width=1, compacted=compacted, **fields)


def _move(launch_: Launch, mask: Tensor, count: Tensor, rank: int | None, width: int, **arguments: Any) -> None:
    """Number the chosen rows, then move them; without `rank` their indices."""
    kernel = Kernel.load("ops/compact.wgsl", defines={"RANK": rank or 0, "INDICES": rank is None})
    threads = max(mask.size * max(width, 1), 1)  # one at least sets the count
    with Tensor.empty(mask.shape, u32) as ordinals:
        if mask.size:
            running_count(launch_, mask, ordinals)
        launch_(
            kernel,
            threads,
            overwrites=("count",),
            ordinals=ordinals,
            count=count,
            rows=mask.size,
            width=width,
            **arguments,
        )
