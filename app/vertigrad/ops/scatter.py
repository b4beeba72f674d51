"""Gather and scatter by a tensor of indices (i32, u32 or u8).

Negative indices count from the end. The GPU cannot raise: an index out of range reads NaN (0 or false if the tensor is
not of floats) and writes nothing. Of several updates with the same target the last one stays, as in NumPy; with a
reduction, floats are added in an order that may differ from run to run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..deprecation import renamed_arguments
from ..errors import DtypeError, ShapeError
from ..gpu import Kernel
from ..tensor import Tensor, bool_, f16, f32, f64, u8, u32
from . import launch
from .define import Operand
from .differentiable import differentiable
from .elementwise import assign
from .functions import equal, where
from .gather import index_tensor, take
from .pad import require_integers
from .scatter_doubles import reduced_updates

REDUCTIONS = ("none", "add", "mul", "min", "max")  # ONNX's names
_with_old_names = renamed_arguments({"put": "none", "multiply": "mul"}, join="reduction")  # up to version 0.1
_WIDER = {f16: f32, u8: u32}  # atomic operations are on whole words


def embedding(weights: Operand, indices: Any, *, out: Tensor | None = None) -> Tensor:
    """Rows of `weights` (count, width) at `indices`: (*indices, width)."""
    return take(weights, indices, 0, out=out)


@differentiable
def gather_nd(x: Operand, indices: Operand, *, batch_axes: int = 0, out: Tensor | None = None) -> Tensor:
    """The part of x that each vector along the last axis of `indices` names.

    The first `batch_axes` axes of both are the same, and each member has its own indices; a vector names as many axes
    of x after those as it is long. The shape is indices.shape[:-1] + what is left of x's axes. Raises `ShapeError`.
    """
    with launch.tensors(x, indices) as (source, index):
        require_integers("gather_nd", index)
        depth = _depth("gather_nd", source.shape[batch_axes:], index)
        if index.shape[:batch_axes] != source.shape[:batch_axes] or index.ndim <= batch_axes:
            raise ShapeError(f"gather_nd: {index.shape} and {source.shape} differ in the first {batch_axes} axes")
        shape = (*index.shape[:-1], *source.shape[batch_axes + depth :])
        out = launch.prepare_output("gather_nd", shape, source.dtype, out)
        if out.size:
            axes = source.shape[batch_axes:]
            addresses = _vectors(launch.copy_if_aliased(index, out), axes, depth)
            addresses.fields.update(group=math.prod(index.shape[batch_axes:-1]), batch_step=math.prod(axes))
            with launch.packed(out) as target:
                _launch("gather", launch.copy_if_aliased(source, out), addresses, target, out.size)
    return out


@_with_old_names
@differentiable
def scatter_nd(
    x: Operand,
    indices: Operand,
    updates: Operand,
    reduction: str = "none",
    *,
    unique_indices: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of x in which each update is written to the part that a vector along the last axis of `indices` names.

    `updates` have the shape indices.shape[:-1] + what is left of x's axes; `reduction` is "none", "add", "mul", "min"
    or "max". With x as `out` it is done in place. `unique_indices` says that no two updates have the same target, which
    saves the pass that finds the last of them. Raises `ShapeError`, `DtypeError`.
    """
    with launch.tensors(x, indices, updates) as (source, index, values):
        depth = _depth("scatter_nd", source.shape, index)
        shape = (*index.shape[:-1], *source.shape[depth:])
        _check("scatter_nd", source, index, values, reduction)
        if values.shape != shape:
            raise ShapeError(f"scatter_nd: updates of shape {values.shape}; they must be {shape}")
        if source.dtype is f64 and reduction != "none":
            return _of_doubles(reduction, source, linear_indices(index, source.shape[:depth]), values, out)
        return _scatter(reduction, source, _vectors(index, source.shape, depth), values, out, unique_indices)


@_with_old_names
@differentiable
def scatter_elements(
    x: Operand,
    indices: Operand,
    updates: Operand,
    axis: int = 0,
    reduction: str = "none",
    *,
    unique_indices: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of x in which updates[i, j, k] is written to out[.., indices[i, j, k], ..] along `axis`.

    `indices` and `updates` have one shape, no longer than x along all other axes; see `scatter_nd` for the rest.
    """
    with launch.tensors(x, indices, updates) as (source, index, values):
        at = launch.normal_axis(axis, source.ndim)
        _check("scatter_elements", source, index, values, reduction)
        fits = all(n <= m or i == at for i, (n, m) in enumerate(zip(index.shape, source.shape, strict=False)))
        if index.shape != values.shape or index.ndim != source.ndim or not fits:
            raise ShapeError(
                f"scatter_elements: indices {index.shape} and updates {values.shape} do not fit x {source.shape}"
            )
        if source.dtype is f64 and reduction != "none":
            return _of_doubles(reduction, source, linear_indices(index, source.shape, at), values, out)
        return _scatter(reduction, source, _along_axis(index, source.shape, at), values, out, unique_indices)


def put(x: Tensor, key: Operand, value: Operand) -> Tensor:
    """Write `value`, broadcast, to the rows of x that `key` selects: x[key] = value for indices or a mask."""
    is_mask = key.dtype is bool_ if isinstance(key, Tensor) else np.asarray(key).dtype == bool
    if is_mask:
        with launch.operands(key) as (mask,):
            if x.shape[: mask.ndim] != mask.shape:
                raise ShapeError(f"a mask of shape {mask.shape} does not select rows of shape {x.shape}")
            wide = mask.reshape(*mask.shape, *[1] * (x.ndim - mask.ndim))
            return assign(x, where(wide, value, x))
    with index_tensor(key, x.shape[0]) as index:
        updates = assign(Tensor.empty((*index.shape, *x.shape[1:]), x.dtype, temporary=True), value)
        return scatter_nd(x, index[..., None], updates, out=x)


def linear_indices(indices: Tensor, sizes: Sequence[int], axis: int | None = None) -> Tensor:
    """For kernels that come after it: row-major linear indices (u32) into axes of `sizes`; math.prod(sizes) out of
    range.

    Without `axis` of each vector along the last axis of `indices`; else of every index along `axis`, as in
    `scatter_elements`.
    """
    addresses = _vectors(indices, sizes, len(sizes)) if axis is None else _along_axis(indices, sizes, axis)
    out = Tensor.empty(indices.shape[:-1] if axis is None else indices.shape, u32, temporary=True)
    if out.size:
        addresses.fields.update(out_of_range=math.prod(sizes))
        _launch("linear", None, addresses, out, out.size)
    return out


def is_last_write(indices: Tensor, sizes: Sequence[int], axis: int | None = None) -> Tensor:
    """Whether each update stays (bool): its index is in range, and no later one has the same target.

    Arguments as of `linear_indices`.
    """
    index = linear_indices(indices, sizes, axis)
    if not index.size:
        return index.to(bool_)
    addresses = _vectors(indices, sizes, len(sizes)) if axis is None else _along_axis(indices, sizes, axis)
    ordinals = np.arange(1, index.size + 1, dtype=np.uint32).reshape(index.shape)
    return equal(take(_last(addresses), index), ordinals)


# inside -------------------------------------------------------------------------------------------------------------


def _depth(name: str, axes: Sequence[int], index: Tensor) -> int:
    if not index.ndim or not 1 <= index.shape[-1] <= min(len(axes), launch.MAX_RANK):
        raise ShapeError(f"{name}: vectors along the last axis of {index.shape} do not name axes of {tuple(axes)}")
    return index.shape[-1]


def _check(name: str, x: Tensor, index: Tensor, values: Tensor, reduction: str) -> None:
    require_integers(name, index)
    if reduction not in REDUCTIONS:
        raise ShapeError(f"{name}: reduction is one of {REDUCTIONS}, not {reduction!r}")
    if values.dtype is not x.dtype:
        raise DtypeError(f"{name}: updates of {values.dtype} for a tensor of {x.dtype}")
    if x.dtype is bool_ and reduction != "none":
        raise DtypeError(f"{name}: bools have no reduction {reduction!r}")


class _Addresses(NamedTuple):
    """What `indices` address: a part of a contiguous tensor for each vector of `depth` of them, or, with 0, one
    element.

    `sizes` are those of the axes addressed, `rank` is the number of axes of `indices` with a depth of 0, and
    `fields` are uniform fields of the kernel.
    """

    indices: Tensor
    depth: int
    rank: int
    sizes: tuple[int, ...]
    fields: dict[str, Any]


def _vectors(indices: Tensor, axes: Sequence[int], depth: int) -> _Addresses:
    """Each vector along the last axis names the first `depth` of `axes`."""
    run = math.prod(axes[depth:])
    steps = [math.prod(axes[k + 1 : depth]) * run for k in range(depth)]
    fields = {"run": run, "sizes": launch.padded(axes[:depth], 1), "steps": launch.padded(steps, 0), "group": 1 << 30}
    return _Addresses(indices, depth, 0, tuple(axes[:depth]), fields)


def _along_axis(indices: Tensor, sizes: Sequence[int], axis: int) -> _Addresses:
    """Each index names an element along `axis` of `sizes`, at its own position along the others."""
    strides = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
    fields = {
        "axis_size": sizes[axis],
        "axis_step": strides[axis],
        "shape": launch.padded(indices.shape, 1),
        "at_strides": launch.padded([0 if i == axis else s for i, s in enumerate(strides)], 0),
    }
    return _Addresses(indices, 0, indices.ndim, tuple(sizes), fields)


def _scatter(
    reduction: str, x: Tensor, addresses: _Addresses, values: Tensor, out: Tensor | None, unique: bool
) -> Tensor:
    out = launch.prepare_output("scatter", x.shape, x.dtype, out)
    addresses, values = (
        addresses._replace(indices=launch.copy_if_aliased(addresses.indices, out)),
        launch.copy_if_aliased(values, out),
    )
    if reduction != "none" and x.dtype in _WIDER:
        wider = _WIDER[x.dtype]
        with x.to(wider) as whole, values.to(wider) as wide:
            return assign(out, _scatter(reduction, whole, addresses, wide, whole, unique))
    if not out.is_contiguous:
        with Tensor.empty(x.shape, x.dtype, temporary=True) as packed:
            return assign(out, _scatter(reduction, x, addresses, values, packed, unique))
    if not (x.owner is out.owner and x.layout == out.layout):
        assign(out, x)
    if values.size and out.size:
        needs_no_order = unique or reduction != "none" or addresses.indices.size <= max(addresses.depth, 1)
        last = None if needs_no_order else _last(addresses)
        _launch(reduction, values, addresses, out, values.size, last)
    return out


def _of_doubles(reduction: str, x: Tensor, targets: Tensor, values: Tensor, out: Tensor | None) -> Tensor:
    """f64 with a reduction: what has one target is put together before it is written."""
    if not values.size or not x.size:
        return assign(launch.prepare_output("scatter", x.shape, x.dtype, out), x)
    flat = targets.reshape(-1)
    updates = values.contiguous().reshape(flat.size, -1)
    rows = x.contiguous().reshape(-1, updates.shape[1])
    target, totals = reduced_updates(reduction, rows, flat, updates)
    return launch.deliver("scatter", scatter_nd(rows, target[:, None], totals).reshape(*x.shape), out)


def _last(addresses: _Addresses) -> Tensor:
    """For each target, 1 + the number of the last index, or vector, that addresses it; 0 if none does."""
    last = assign(Tensor.empty(math.prod(addresses.sizes), u32, temporary=True), 0)
    compact = _vectors(addresses.indices, addresses.sizes, addresses.depth) if addresses.depth else addresses
    _launch("last", None, compact, last, addresses.indices.size // max(addresses.depth, 1))
    return last


def _launch(
    kind: str, x: Tensor | None, addresses: _Addresses, out: Tensor, count: int, last: Tensor | None = None
) -> None:
    dtype = out.dtype if x is None else x.dtype
    kernel = Kernel.load(
        "ops/scatter.wgsl",
        defines={
            **{"DTYPE": dtype.name, "INDEX": addresses.indices.dtype.name, "KIND": kind, "LAST": last is not None},
            **{"DEPTH": addresses.depth, "RANK": addresses.rank},
        },
    )
    words = kind == "mul" or (kind in REDUCTIONS and kind != "none" and dtype is f32)
    unused: dict[str, Any] = dict.fromkeys(("sizes", "steps", "shape", "at_strides"), [0] * launch.MAX_RANK)
    unused |= {"run": 1, "group": 1, "axis_size": 1, "batch_step": 0, "axis_step": 0, "at_offset": 0, "out_of_range": 0}
    target = out.bitcast(u32) if words else out
    kernel(
        count,
        overwrites=("out",) if kind in ("gather", "linear") else (),
        x=None if x is None else x.contiguous(),
        last=last,
        indices=addresses.indices.contiguous(),
        out=target,
        count=count,
        **(unused | addresses.fields),
    )
