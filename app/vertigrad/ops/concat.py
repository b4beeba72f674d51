"""Tensors put together along an axis, one after the other, or their parts in turn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import index

import numpy as np

from ..errors import ShapeError
from ..tensor import Tensor, promote
from . import launch
from .differentiable import differentiable
from .elementwise import assign, copy
from .functions import Operand


@differentiable
def concatenate(parts: Sequence[Operand], axis: int | None = 0, *, out: Tensor | None = None) -> Tensor:
    """The `parts` one after the other along `axis`, brought to their common element type; without `axis`, flattened.

    Raises `ShapeError` if there are none, or if their shapes differ along any other axis.
    """
    with launch.tensors(*parts) as tensors:
        whole = tensors if axis is not None else [part.contiguous().reshape(-1) for part in tensors]
        at = launch.normal_axis(axis or 0, whole[0].ndim) if whole else 0
        shape = _shape([part.shape for part in whole], at)
        out = launch.prepare_output("concatenate", shape, reduce(promote, (part.dtype for part in whole)), out)
        start = 0
        for part in [launch.copy_if_aliased(part, out) for part in whole]:
            stop = start + part.shape[at]
            with out[(*[slice(None)] * at, slice(start, stop))] as target:
                assign(target, part)
            start = stop
    return out


@differentiable
def stack(parts: Sequence[Operand], axis: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The `parts`, all of one shape, along a new `axis`. Raises `ShapeError` as `concatenate` does."""
    with launch.tensors(*parts) as tensors:
        if len({part.shape for part in tensors}) > 1:
            raise ShapeError(f"stack: shapes differ: {', '.join(str(part.shape) for part in tensors)}")
        at = launch.normal_axis(axis, tensors[0].ndim + 1) if tensors else 0
        return concatenate([part[(*[slice(None)] * at, None)] for part in tensors], at, out=out)


def roll(
    x: Operand,
    shift: int | Sequence[int],
    axis: int | Sequence[int] | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """x with all elements moved on by `shift` along `axis`; those beyond its end come in at its beginning.

    Several axes have a shift each, or one for all; without `axis` x counts as one row of elements, with the same shape.
    Raises `ShapeError` if shifts and axes are not as many.
    """
    with launch.tensors(x, composed=True) as (source,):
        return launch.deliver("roll", _rolled(source, shift, axis), out)


def _rolled(x: Tensor, shift: int | Sequence[int], axis: int | Sequence[int] | None) -> Tensor:
    if axis is None:
        return _rolled(x.contiguous().reshape(-1), shift, 0).reshape(*x.shape)
    found = x
    for at, n in _shifts(shift, axis, x.ndim).items():
        n = n % x.shape[at] if x.shape[at] else 0
        if n:
            whole, cut = (slice(None),) * at, x.shape[at] - n
            found = concatenate([found[(*whole, slice(cut, None))], found[(*whole, slice(0, cut))]], at)
    return copy(x) if found is x else found


def _shifts(shift: int | Sequence[int], axis: int | Sequence[int], rank: int) -> dict[int, int]:
    """How far each axis is moved; an axis that is named twice is moved by both."""
    axes = [axis] if isinstance(axis, int | np.integer) else list(axis)
    shifts = [shift] * len(axes) if isinstance(shift, int | np.integer) else list(shift)
    axes = axes * len(shifts) if len(axes) == 1 else axes
    if len(shifts) != len(axes):
        raise ShapeError(f"roll: {len(shifts)} shifts along {len(axes)} axes")
    found: dict[int, int] = {}
    for at, n in zip((launch.normal_axis(one, rank) for one in axes), shifts, strict=True):
        found[at] = found.get(at, 0) + index(n)
    return found


def _shape(shapes: Sequence[tuple[int, ...]], at: int) -> tuple[int, ...]:
    if not shapes:
        raise ShapeError("concatenate and stack need at least one tensor")
    first = shapes[0]
    for shape in shapes:
        if (shape[:at], len(shape), shape[at + 1 :]) != (first[:at], len(first), first[at + 1 :]):
            raise ShapeError(f"concatenate along axis {at}: shapes {first} and {shape} do not fit together")
    return (*first[:at], sum(shape[at] for shape in shapes), *first[at + 1 :])
