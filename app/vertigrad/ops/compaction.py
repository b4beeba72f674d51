"""What a mask chooses, moved together; how many that is stays on the GPU, where it can size a dispatch or a draw."""

from __future__ import annotations

import math
from typing import Any

from ..errors import DtypeError, ShapeError
from ..gpu import Kernel
from ..tensor import DType, Tensor, i32, u32
from . import launch
from .differentiable import differentiable
from .functions import Operand
from .scans import running_count


@differentiable
def compact(x: Operand, mask: Operand, *, out: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
    """The rows of `x` whose `mask` is not 0, in order, and how many they are: (values, count).

    The axes of `mask` are the first ones of `x`, as in NumPy's x[mask]; a row is what is left of them. `values` has
    room for all rows, shape (rows of `x`, ...): what comes after the first `count` is not set. `count` is one u32.
    Raises `ShapeError`, and `DtypeError` unless elements of `x` have 32 bits.
    """
    with launch.tensors(x, mask) as (source, chosen):
        if not chosen.ndim or source.shape[: chosen.ndim] != chosen.shape:
            raise ShapeError(f"compact: a mask of shape {chosen.shape} does not choose rows of shape {source.shape}")
        if source.itemsize != 4:
            raise DtypeError(f"compact: elements are {source.dtype}; they must have 32 bits: use .to() first")
        rest = source.shape[chosen.ndim :]
        values, count = _outputs("compact", "values", (chosen.size, *rest), source.dtype, out)
        source, chosen = (launch.copy_if_aliased(tensor, values, count) for tensor in (source, chosen))
        rank, fields = launch.merged(source.shape, source=launch.element_strides(source))
        _move(chosen, values, count, rank, width=math.prod(rest), source=source.bitcast(u32), **fields)
    return values, count


def masked_select(x: Operand, mask: Operand) -> Tensor:
    """The rows of `x` whose `mask` is not 0, as NumPy's x[mask].

    Their number is read back, so it waits for the GPU; `compact` leaves it there. Raises as `compact`.
    """
    values, count = compact(x, mask)
    with count:
        return values[: int(count.item())]


@differentiable
def nonzero(x: Operand, *, out: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
    """Indices of the elements of `x` that are not 0, in row-major order, and their number: (indices, count).

    `indices` (i32) has a row for each, with an index for each axis, as `numpy.argwhere`; shape (elements of `x`, axes):
    what comes after the first `count` rows is not set. `count` is one u32.
    """
    with launch.tensors(x) as (source,):
        indices, count = _outputs("nonzero", "indices", (source.size, source.ndim), i32, out)
        fields = {"shape": launch.padded(source.shape, 1), "axes": source.ndim}
        _move(launch.copy_if_aliased(source, indices, count), indices, count, None, width=1, **fields)
    return indices, count


def _outputs(
    name: str, what: str, shape: tuple[int, ...], dtype: DType, out: tuple[Tensor, Tensor] | None
) -> tuple[Tensor, Tensor]:
    chosen, count = out or (None, None)
    chosen = launch.prepare_output(f"{name}: {what}", shape, dtype, chosen)
    return chosen, launch.prepare_output(f"{name}: count", (1,), u32, count)


def _move(mask: Tensor, out: Tensor, count: Tensor, rank: int | None, width: int, **arguments: Any) -> None:
    """Number the chosen rows, then move them; without `rank` their indices."""
    kernel = Kernel.load("ops/compact.wgsl", defines={"RANK": rank or 0, "INDICES": rank is None})
    threads = max(mask.size * max(width, 1), 1)  # one at least sets the count
    with Tensor.empty(mask.shape, u32, temporary=True) as ordinals, launch.packed(out) as target:
        if mask.size:
            running_count(mask, ordinals)
        bound = {"compacted": target.bitcast(u32), "ordinals": ordinals, "count": count}
        kernel(threads, overwrites=("count",), rows=mask.size, width=width, **bound, **arguments)
