"""Elements taken from and put into places that a tensor of indices names (i32, u32 or u8).

Indices count from the end where they are negative. The GPU cannot raise: what an index outside names is read as NaN
(0 or false if the tensor is not of floats) and not written. Where several values are put into one place the last of
them stays, as in NumPy; where they are joined, floats are added in an order that may differ from run to run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import DtypeError, ShapeError
from ..gpu import Kernel
from ..tensor import Tensor, bool_, f16, f32, u8, u32
from . import launch
from .define import Operand
from .differentiable import differentiable
from .elementwise import assign
from .functions import equal
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
            named = _vectors(launch.apart(places, out), axes, depth)
            named.fields.update(group=math.prod(places.shape[batch_axes:-1]), batch_step=math.prod(axes))
            _launch("gather", launch.apart(source, out), named, out, out.size)
    return out


@differentiable
def scatter_nd(
    x: Operand,
    indices: Operand,
    updates: Operand,
    join: str = "put",
    *,
    unique_indices: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of x in which the part that each vector along the last axis of `indices` names is joined with its update.

    `updates` have the shape indices.shape[:-1] + what is left of x's axes; `join` is "put", "add", "multiply", "min" or
    "max". With x as `out` it is done in place. `unique_indices` promises that no two values are put into one place,
    which saves the pass that finds the last of them. Raises `ShapeError`, `DtypeError`.
    """
    with launch.tensors(x, indices, updates) as (source, places, values):
        depth = _depth("scatter_nd", source.shape, places)
        shape = (*places.shape[:-1], *source.shape[depth:])
        _check("scatter_nd", source, places, values, join)
        if values.shape != shape:
            raise ShapeError(f"scatter_nd: updates of shape {values.shape}; they must be {shape}")
        return _scatter(join, source, _vectors(places, source.shape, depth), values, out, unique_indices)


@differentiable
def scatter_elements(
    x: Operand,
    indices: Operand,
    updates: Operand,
    axis: int = 0,
    join: str = "put",
    *,
    unique_indices: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of x in which out[.., indices[i, j, k], ..] along `axis` is joined with updates[i, j, k].

    `indices` and `updates` have one shape, no longer than x along all other axes; see `scatter_nd` for the rest.
    """
    with launch.tensors(x, indices, updates) as (source, places, values):
        at = launch.normal_axis(axis, source.ndim)
        _check("scatter_elements", source, places, values, join)
        fits = all(n <= m or i == at for i, (n, m) in enumerate(zip(places.shape, source.shape, strict=False)))
        if places.shape != values.shape or places.ndim != source.ndim or not fits:
            raise ShapeError(
                f"scatter_elements: indices {places.shape} and updates {values.shape} do not fit x {source.shape}"
            )
        return _scatter(join, source, _along_axis(places, source.shape, at), values, out, unique_indices)


def numbered_places(indices: Tensor, sizes: Sequence[int], axis: int | None = None) -> Tensor:
    """For kernels that come after it: the number (u32) of each place that `indices` name in a tensor of axes `sizes`.

    Places count in row-major order; one outside is as large as their number. Without `axis` each vector along the last
    axis of `indices` names one; else every index does, along `axis`, as in `scatter_elements`.
    """
    named = _vectors(indices, sizes, len(sizes)) if axis is None else _along_axis(indices, sizes, axis)
    out = Tensor.empty(indices.shape[:-1] if axis is None else indices.shape, u32, temporary=True)
    if out.size:
        named.fields.update(nowhere=math.prod(sizes))
        _launch("place", None, named, out, out.size)
    return out


def stay(indices: Tensor, sizes: Sequence[int], axis: int | None = None) -> Tensor:
    """Whether what is put to each place that `indices` name stays there (bool): it is inside, and named last.

    Arguments as of `numbered_places`.
    """
    places = numbered_places(indices, sizes, axis)
    if not places.size:
        return places.to(bool_)
    named = _vectors(indices, sizes, len(sizes)) if axis is None else _along_axis(indices, sizes, axis)
    numbers = np.arange(1, places.size + 1, dtype=np.uint32).reshape(places.shape)
    return equal(take(_last(named), places), numbers)


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


class _Named(NamedTuple):
    """What `indices` name: a part of a contiguous tensor for each vector of `depth` of them, or, with 0, one element.

    `sizes` are those of the axes that are named, `rank` is the number of axes of `indices` with a depth of 0, and
    `fields` tell the kernel where the parts are.
    """

    indices: Tensor
    depth: int
    rank: int
    sizes: tuple[int, ...]
    fields: dict[str, Any]


def _vectors(indices: Tensor, axes: Sequence[int], depth: int) -> _Named:
    """Each vector along the last axis names the first `depth` of `axes`."""
    run = math.prod(axes[depth:])
    steps = [math.prod(axes[k + 1 : depth]) * run for k in range(depth)]
    fields = {"run": run, "sizes": launch.padded(axes[:depth], 1), "steps": launch.padded(steps, 0), "group": 1 << 30}
    return _Named(indices, depth, 0, tuple(axes[:depth]), fields)


def _along_axis(indices: Tensor, sizes: Sequence[int], axis: int) -> _Named:
    """Each index names an element along `axis` of `sizes`, at its own place along the others."""
    strides = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
    fields = {
        "axis_size": sizes[axis],
        "axis_step": strides[axis],
        "shape": launch.padded(indices.shape, 1),
        "at_strides": launch.padded([0 if i == axis else s for i, s in enumerate(strides)], 0),
    }
    return _Named(indices, 0, indices.ndim, tuple(sizes), fields)


def _scatter(join: str, x: Tensor, named: _Named, values: Tensor, out: Tensor | None, unique: bool) -> Tensor:
    out = launch.destination("scatter", x.shape, x.dtype, out)
    named, values = named._replace(indices=launch.apart(named.indices, out)), launch.apart(values, out)
    if join != "put" and x.dtype in _WIDER:
        wider = _WIDER[x.dtype]
        with x.to(wider) as whole, values.to(wider) as wide:
            return assign(out, _scatter(join, whole, named, wide, whole, unique))
    if not out.is_contiguous:
        with Tensor.empty(x.shape, x.dtype, temporary=True) as packed:
            return assign(out, _scatter(join, x, named, values, packed, unique))
    if not (x.owner is out.owner and x.layout == out.layout):
        assign(out, x)
    if values.size and out.size:
        alone = unique or join != "put" or named.indices.size <= max(named.depth, 1)
        last = None if alone else _last(named)
        _launch(join, values, named, out, values.size, last)
    return out


def _last(named: _Named) -> Tensor:
    """For each place, 1 + the number of the index, or of the vector, that names it last; 0 if none does."""
    last = assign(Tensor.empty(math.prod(named.sizes), u32, temporary=True), 0)
    compact = _vectors(named.indices, named.sizes, named.depth) if named.depth else named
    _launch("last", None, compact, last, named.indices.size // max(named.depth, 1))
    return last


def _launch(kind: str, x: Tensor | None, named: _Named, out: Tensor, count: int, last: Tensor | None = None) -> None:
    if not out.is_contiguous:
        with Tensor.empty(out.shape, out.dtype, temporary=True) as packed:
            _launch(kind, x, named, packed, count, last)
            assign(out, packed)
        return
    dtype = out.dtype if x is None else x.dtype
    kernel = Kernel.load(
        "ops/scatter.wgsl",
        defines={
            **{"DTYPE": dtype.name, "INDEX": named.indices.dtype.name, "KIND": kind, "LAST": last is not None},
            **{"DEPTH": named.depth, "RANK": named.rank},
        },
    )
    words = kind == "multiply" or (kind in JOINS and kind != "put" and dtype is f32)
    nothing: dict[str, Any] = {"run": 1, "group": 1, "axis_size": 1, **dict.fromkeys(_NONE, 0)}
    nothing |= dict.fromkeys(("sizes", "steps", "shape", "at_strides"), [0] * launch.MAX_RANK)
    kernel(
        count,
        overwrites=("out",) if kind in ("gather", "place") else (),
        **({} if x is None else {"x": x.contiguous()}),
        **({"last_offset": 0} if last is None else {"last": last}),
        indices=named.indices.contiguous(),
        out=out.bitcast(u32) if words else out,
        count=count,
        **(nothing | named.fields),
    )
