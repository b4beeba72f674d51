"""Tensors put together along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from ..errors import ShapeError
from ..tensor import Tensor, promote
from . import launch
from .differentiable import differentiable
from .elementwise import assign
from .functions import Operand


@differentiable
def concatenate(parts: Sequence[Operand], axis: int | None = 0, *, out: Tensor | None = None) -> Tensor:
    """The `parts` one after the other along `axis`, brought to their common element type; without `axis`, flattened.

    Raises `ShapeError` if there are none, or if their shapes differ along any other axis.
    """
    with launch.tensors(*parts) as given:
        whole = given if axis is not None else [part.contiguous().reshape(-1) for part in given]
        at = launch.normal_axis(axis or 0, whole[0].ndim) if whole else 0
        shape = _shape([part.shape for part in whole], at)
        out = launch.destination("concatenate", shape, reduce(promote, (part.dtype for part in whole)), out)
        start = 0
        for part in [launch.apart(part, out) for part in whole]:
            stop = start + part.shape[at]
            with out[(*[slice(None)] * at, slice(start, stop))] as place:
                assign(place, part)
            start = stop
    return out


@differentiable
def stack(parts: Sequence[Operand], axis: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The `parts`, all of one shape, along a new `axis`. Raises `ShapeError` as `concatenate` does."""
    with launch.tensors(*parts) as given:
        if len({part.shape for part in given}) > 1:
            raise ShapeError(f"stack: shapes differ: {', '.join(str(part.shape) for part in given)}")
        at = launch.normal_axis(axis, given[0].ndim + 1) if given else 0
        return concatenate([part[(*[slice(None)] * at, None)] for part in given], at, out=out)


def _shape(shapes: Sequence[tuple[int, ...]], at: int) -> tuple[int, ...]:
    """The shape of `shapes` put together along axis `at`. Raises `ShapeError`."""
    if not shapes:
        raise ShapeError("concatenate and stack need at least one tensor")
    first = shapes[0]
    for shape in shapes:
        if (shape[:at], len(shape), shape[at + 1 :]) != (first[:at], len(first), first[at + 1 :]):
            raise ShapeError(f"concatenate along axis {at}: shapes {first} and {shape} do not fit together")
    return (*first[:at], sum(shape[at] for shape in shapes), *first[at + 1 :])
