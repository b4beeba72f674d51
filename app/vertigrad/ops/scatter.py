"""Elements taken from and put into places that a tensor of indices names (i32 or u32).

Indices count from the end where they are negative. The GPU cannot raise: what an index outside names is read as NaN
(0 or false if the tensor is not of floats) and not written. Where several values are put into one place, one of them
stays there; where they are joined, floats are added in an order that may differ from run to run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..errors import DtypeError, ShapeError
from ..gpu import Kernel
from ..tensor import DType, Tensor, bool_, f16, f32, u8, u32
from . import launch
from .define import Operand
from .differentiable import differentiable
from .elementwise import assign
from .gather import take
from .pad import require_integers

JOINS = ("put", "add", "multiply", "min", "max")
_NONE = ("x_offset", "batch_step", "axis_step", "at_offset", "nowhere")
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
    with launch.tensors(x, indices) as (source, places):
        require_integers("gather_nd", places)
        depth = _depth("gather_nd", source.shape[batch_axes:], places)
        if places.shape[:batch_axes] != source.shape[:batch_axes] or places.ndim <= batch_axes:
            raise ShapeError(f"gather_nd: {places.shape} and {source.shape} differ in the first {batch_axes} axes")
        shape = (*places.shape[:-1], *source.shape[batch_axes + depth :])
        out = launch.destination("gather_nd", shape, source.dtype, out)
        if out.size:
            axes = source.shape[batch_axes:]
            fields = _named_axes(axes, depth)
            fields |= {"group": math.prod(places.shape[batch_axes:-1]), "batch_step": math.prod(axes)}
            _launch("gather", launch.apart(source, out), launch.apart(places, out), out, out.size, depth, 0, fields)
    return out


@differentiable
def scatter_nd(
    x: Operand, indices: Operand, updates: Operand, join: str = "put", *, out: Tensor | None = None
) -> Tensor:
    """A copy of x in which the part that each vector along the last axis of `indices` names is joined with its update.

    `updates` have the shape indices.shape[:-1] + what is left of x's axes; `join` is "put", "add", "multiply", "min" or
    "max". With x as `out` it is done in place. Raises `ShapeError`, `DtypeError`.
    """
    with launch.tensors(x, indices, updates) as (source, places, values):
        depth = _depth("scatter_nd", source.shape, places)
        shape = (*places.shape[:-1], *source.shape[depth:])
        _check("scatter_nd", source, places, values, join)
        if values.shape != shape:
            raise ShapeError(f"scatter_nd: updates of shape {values.shape}; they must be {shape}")
        fields = _named_axes(source.shape, depth) | {"group": 1 << 30, "batch_step": 0}
        return _scatter(join, source, places, values, depth, 0, fields, out)


@differentiable
def scatter_elements(
    x: Operand, indices: Operand, updates: Operand, axis: int = 0, join: str = "put", *, out: Tensor | None = None
) -> Tensor:
    """A copy of x in which out[.., indices[i, j, k], ..] along `axis` is joined with updates[i, j, k].

    `indices` and `updates` have one shape, no longer than x along all other axes. Raises as `scatter_nd`.
    """
    with launch.tensors(x, indices, updates) as (source, places, values):
        at = launch.normal_axis(axis, source.ndim)
        _check("scatter_elements", source, places, values, join)
        fits = all(n <= m or i == at for i, (n, m) in enumerate(zip(places.shape, source.shape, strict=False)))
        if places.shape != values.shape or places.ndim != source.ndim or not fits:
            raise ShapeError(
                f"scatter_elements: indices {places.shape} and updates {values.shape} do not fit x {source.shape}"
            )
        return _scatter(join, source, places, values, 0, source.ndim, _along_axis(source.shape, places.shape, at), out)


def numbered_places(indices: Tensor, sizes: Sequence[int], axis: int | None = None) -> Tensor:
    """For kernels that come after it: the number (u32) of each place that `indices` name in a tensor of axes `sizes`.

    Places count in row-major order; one outside is as large as their number. Without `axis` each vector along the last
    axis of `indices` names one; else every index does, along `axis`, as in `scatter_elements`.
    """
    if axis is None:
        fields, shape = _named_axes(sizes, len(sizes)), indices.shape[:-1]
        fields |= {"group": 1 << 30}
    else:
        fields, shape = _along_axis(sizes, indices.shape, axis), indices.shape
    out = Tensor.empty(shape, u32, temporary=True)
    if out.size:
        depth, rank = (len(sizes), 0) if axis is None else (0, indices.ndim)
        _launch("place", None, indices, out, out.size, depth, rank, fields | {"nowhere": math.prod(sizes)})
    return out


# inside -------------------------------------------------------------------------------------------------------------


def _depth(name: str, axes: Sequence[int], places: Tensor) -> int:
    """How many axes a vector of indices names."""
    if not places.ndim or not 1 <= places.shape[-1] <= min(len(axes), launch.MAX_RANK):
        raise ShapeError(f"{name}: vectors along the last axis of {places.shape} do not name axes of {tuple(axes)}")
    return places.shape[-1]


def _check(name: str, x: Tensor, places: Tensor, values: Tensor, join: str) -> None:
    require_integers(name, places)
    if join not in JOINS:
        raise ShapeError(f"{name}: join is one of {JOINS}, not {join!r}")
    if values.dtype is not x.dtype:
        raise DtypeError(f"{name}: updates of {values.dtype} for a tensor of {x.dtype}")
    if x.dtype is bool_ and join != "put":
        raise DtypeError(f"{name}: bools cannot be joined by {join!r}")


def _named_axes(axes: Sequence[int], depth: int) -> dict[str, Any]:
    """The fields that say where the parts of a contiguous tensor lie that vectors of `depth` indices name."""
    run = math.prod(axes[depth:])
    steps = [math.prod(axes[k + 1 : depth]) * run for k in range(depth)]
    return {"run": run, "sizes": launch.padded(axes[:depth], 1), "steps": launch.padded(steps, 0)}


def _along_axis(sizes: Sequence[int], shape: Sequence[int], axis: int) -> dict[str, Any]:
    """The fields that say which place each index of a tensor of `shape` names along `axis` of axes `sizes`."""
    strides = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
    return {
        "axis_size": sizes[axis],
        "axis_step": strides[axis],
        "shape": launch.padded(shape, 1),
        "at_strides": launch.padded([0 if i == axis else s for i, s in enumerate(strides)], 0),
    }


def _scatter(
    join: str,
    x: Tensor,
    places: Tensor,
    values: Tensor,
    depth: int,
    rank: int,
    fields: dict[str, Any],
    out: Tensor | None,
) -> Tensor:
    out = launch.destination("scatter", x.shape, x.dtype, out)
    places, values = launch.apart(places, out), launch.apart(values, out)
    if join != "put" and x.dtype in _WIDER:
        wider = _WIDER[x.dtype]
        with x.to(wider) as whole, values.to(wider) as wide:
            return assign(out, _scatter(join, whole, places, wide, depth, rank, fields, whole))
    if not out.is_contiguous:
        with Tensor.empty(x.shape, x.dtype, temporary=True) as packed:
            return assign(out, _scatter(join, x, places, values, depth, rank, fields, packed))
    if not (x.owner is out.owner and x.layout == out.layout):
        assign(out, x)
    if values.size and out.size:
        _launch(join, values, places, out, values.size, depth, rank, fields)
    return out


def _launch(
    kind: str, x: Tensor | None, places: Tensor, out: Tensor, count: int, depth: int, rank: int, fields: dict[str, Any]
) -> None:
    dtype = out.dtype if x is None else x.dtype
    kernel = Kernel.load(
        "ops/scatter.wgsl",
        defines={
            **{"DTYPE": dtype.name, "INDEX": places.dtype.name, "KIND": kind},
            **{"DEPTH": depth, "RANK": rank},
        },
    )
    words = kind not in ("gather", "put") and dtype is f32
    nothing: dict[str, Any] = {"run": 1, "group": 1, "axis_size": 1, **dict.fromkeys(_NONE, 0)}
    nothing |= dict.fromkeys(("sizes", "steps", "shape", "at_strides"), [0] * launch.MAX_RANK)
    if not out.is_contiguous:
        with Tensor.empty(out.shape, out.dtype, temporary=True) as packed:
            _launch(kind, x, places, packed, count, depth, rank, fields)
            assign(out, packed)
        return
    kernel(
        count,
        overwrites=("out",) if kind in ("gather", "place") else (),
        **({} if x is None else {"x": x.contiguous()}),
        indices=places.contiguous(),
        out=_as(out, u32) if words or (kind == "multiply") else out,
        count=count,
        **(nothing | fields),
    )


def _as(tensor: Tensor, dtype: DType) -> Tensor:
    """The same words taken for another type of their size; a view."""
    return Tensor(tensor.owner.hold(), tensor.layout, dtype, tensor.name, temporary=True)
