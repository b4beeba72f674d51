"""Gradients of what moves elements: they go back to where the elements came from."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ...errors import GradientError
from ...tensor import Tensor
from .. import launch
from ..broadcast import sum_to
from ..differentiable import Call, rule
from ..gather import places_of
from ..scans import scan
from ..scatter import scatter_elements, scatter_nd
from .joining import are_distinct, sum_at, zeros


@rule("concatenate")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    axis, found, start = call["axis"], {}, 0
    at = launch.normal_axis(axis or 0, gradient.ndim)
    for number, given in enumerate(call["parts"]):
        shape = given.shape if isinstance(given, Tensor) else np.shape(given)
        size = shape[at] if axis is not None else math.prod(shape)
        part = gradient[(*[slice(None)] * at, slice(start, start + size))]
        found[f"parts[{number}]"] = part if axis is not None else part.reshape(*shape)
        start += size
    return found


@rule("stack")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    at = launch.normal_axis(call["axis"], gradient.ndim)
    return {f"parts[{number}]": gradient[(*[slice(None)] * at, number)] for number in range(gradient.shape[at])}


@rule("take", "indices")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    shape, axis, indices = call.shapes["a"], call["axis"], call["indices"]
    whole = shape if axis is not None else (math.prod(shape),)
    at = launch.normal_axis(axis or 0, len(whole))
    lines = (whole[at], *whole[:at], *whole[at + 1 :])
    with places_of(indices, whole[at]) as places:
        front = range(at, at + places.ndim)
        moved = gradient.permute(*front, *(i for i in range(gradient.ndim) if i not in front)).contiguous()
        if are_distinct(indices, whole[at]):
            empty = zeros(lines, gradient)
            joined = scatter_nd(empty, places[..., None], moved, out=empty)
        else:
            joined = sum_at(moved, places[..., None], lines)
    back = joined.permute(*range(1, at + 1), 0, *range(at + 1, joined.ndim))
    return {"a": back if axis is not None else back.reshape(*shape)}


@rule("take_along_axis", "indices")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    """With one index for each line no two name one place."""
    shape, axis = call.shapes["a"], call["axis"]
    at = launch.normal_axis(axis, len(shape))
    whole = (*gradient.shape[:at], shape[at], *gradient.shape[at + 1 :])
    with places_of(call["indices"], shape[at]) as places:
        spread = places.expand(*gradient.shape).contiguous()
        if gradient.shape[at] == 1:
            empty = zeros(whole, gradient)
            joined = scatter_elements(empty, spread, gradient.contiguous(), at, out=empty)
        else:
            joined = sum_at(gradient, spread, whole, at)
    return {"a": sum_to(joined, shape)}


@rule("scan")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    """Of running sums alone: the running sum from the other end."""
    if call["how"] != "sum":
        raise GradientError(f"a running {call['how']} has no gradient; give it x.detach() if it is to have none")
    return {"x": scan("sum", gradient, call["axis"], exclusive=call["exclusive"], reverse=not call["reverse"])}
