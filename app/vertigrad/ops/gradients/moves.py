"""Gradients of what moves elements: they go back to where the elements came from."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ...errors import GradientError
from ...tensor import Tensor
from .. import launch
from ..differentiable import Call, rule
from ..elementwise import assign
from ..gather import places_of
from ..scans import scan
from ..scatter import scatter_elements, scatter_nd


@rule("concatenate")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    axis, found, start = call["axis"], {}, 0
    at = launch.normal_axis(axis or 0, gradient.ndim)
    for name, shape in call.shapes.items():
        size = shape[at] if axis is not None else math.prod(shape)
        part = gradient[(*[slice(None)] * at, slice(start, start + size))]
        found[name] = part if axis is not None else part.reshape(*shape)
        start += size
    return found


@rule("stack")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    at = launch.normal_axis(call["axis"], gradient.ndim)
    return {name: gradient[(*[slice(None)] * at, number)] for number, name in enumerate(call.shapes)}


@rule("take", "indices")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    """Floats that go back to one place are added up in any order."""
    shape, axis = call.shapes["a"], call["axis"]
    whole = shape if axis is not None else (math.prod(shape),)
    at = launch.normal_axis(axis or 0, len(whole))
    with places_of(call["indices"], whole[at]) as places:
        front = range(at, at + places.ndim)
        moved = gradient.permute(*front, *(i for i in range(gradient.ndim) if i not in front)).contiguous()
        lines = zeros((whole[at], *whole[:at], *whole[at + 1 :]), gradient)
        joined = scatter_nd(lines, places[..., None], moved, "add", out=lines)
    back = joined.permute(*range(1, at + 1), 0, *range(at + 1, joined.ndim))
    return {"a": back if axis is not None else back.reshape(*shape)}


@rule("take_along_axis", "indices")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    """Floats that go back to one place are added up in any order."""
    whole = zeros(call.shapes["a"], gradient)
    with places_of(call["indices"], whole.shape[launch.normal_axis(call["axis"], whole.ndim)]) as places:
        spread = places.expand(*gradient.shape).contiguous()
        return {"a": scatter_elements(whole, spread, gradient.contiguous(), call["axis"], "add", out=whole)}


@rule("scan")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    """Of running sums alone: the running sum from the other end."""
    if call["how"] != "sum":
        raise GradientError(f"a running {call['how']} has no gradient; give it x.detach() if it is to have none")
    return {"x": scan("sum", gradient, call["axis"], exclusive=call["exclusive"], reverse=not call["reverse"])}


def zeros(shape: tuple[int, ...], like: Tensor) -> Tensor:
    """A tensor of zeros of the type of `like`, made by a kernel, so that it can be recorded."""
    return assign(Tensor.empty(shape, like.dtype, "gradient", temporary=True), 0)
