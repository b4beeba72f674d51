"""Gradients of gather and scatter operations, concatenate and stack."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ...errors import GradientError
from ...tensor import Tensor, i32, u32
from .. import functions as f
from .. import launch
from ..concat import concatenate
from ..creation import zeros
from ..differentiable import Call, constant, rule
from ..gather import index_tensor, take_along_axis
from ..reduce import sum_to
from ..scatter import gather_nd, is_last_write, linear_indices, scatter_elements, scatter_nd
from .joining import are_distinct, sum_at


@rule("concatenate")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    axis, found, start = call["axis"], {}, 0
    at = launch.normal_axis(axis or 0, gradient.ndim)
    for number, part in enumerate(call["parts"]):
        shape = part.shape if isinstance(part, Tensor) else np.shape(part)
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
    with index_tensor(indices, whole[at]) as index:
        front = range(at, at + index.ndim)
        moved = gradient.permute(*front, *(i for i in range(gradient.ndim) if i not in front)).contiguous()
        if are_distinct(indices, whole[at]):
            buffer = zeros(lines, gradient.dtype)
            summed = scatter_nd(buffer, index[..., None], moved, unique_indices=True, out=buffer)
        else:
            summed = sum_at(moved, index[..., None], lines)
    back = summed.permute(*range(1, at + 1), 0, *range(at + 1, summed.ndim))
    return {"a": back if axis is not None else back.reshape(*shape)}


@rule("take_along_axis", "indices")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    """With one index for each line no two have the same target."""
    shape, axis = call.shapes["a"], call["axis"]
    at = launch.normal_axis(axis, len(shape))
    whole = (*gradient.shape[:at], shape[at], *gradient.shape[at + 1 :])
    with index_tensor(call["indices"], shape[at]) as index:
        spread = index.expand(*gradient.shape).contiguous()
        if gradient.shape[at] == 1:
            buffer = zeros(whole, gradient.dtype)
            summed = scatter_elements(buffer, spread, gradient.contiguous(), at, unique_indices=True, out=buffer)
        else:
            summed = sum_at(gradient, spread, whole, at)
    return {"a": sum_to(summed, shape)}


@rule("gather_nd", "indices")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    batch = call["batch_axes"]
    with launch.tensors(call["indices"]) as (indices,):
        if batch:
            shape = indices.shape
            kind = i32 if indices.dtype is i32 else u32
            members = np.moveaxis(np.asarray(np.indices(shape[:batch]), kind.numpy), 0, -1)
            with launch.tensors(members[(..., *[None] * (len(shape) - batch - 1), slice(None))]) as (batch_indices,):
                indices = concatenate([batch_indices.expand(*shape[:-1], batch), indices.to(kind)], -1)
        return {"x": sum_at(gradient, indices, call.shapes["x"])}


@rule("scatter_nd", "indices")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    """Of several updates with the same target the last one, which stays, gets the gradient."""
    found, adds = {}, _adds("scatter_nd", call)
    with launch.tensors(call["indices"]) as (indices,):
        shape = (*indices.shape[:-1], *gradient.shape[indices.shape[-1] :])
        sizes = gradient.shape[: indices.shape[-1]]
        if "x" in call.requested:
            found["x"] = gradient if adds else scatter_nd(gradient, indices, zeros(shape, gradient.dtype))
        if "updates" in call.requested:
            used = _used(indices, sizes, None, adds)
            wide = used.reshape(*used.shape, *[1] * (len(shape) - used.ndim))
            found["updates"] = f.where(wide, gather_nd(gradient, indices), 0.0)
    return found


@rule("scatter_elements", "indices")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    found, adds = {}, _adds("scatter_elements", call)
    axis = launch.normal_axis(call["axis"], gradient.ndim)
    with launch.tensors(call["indices"]) as (indices,):
        if "x" in call.requested:
            found["x"] = (
                gradient if adds else scatter_elements(gradient, indices, zeros(indices.shape, gradient.dtype), axis)
            )
        if "updates" in call.requested:
            used = _used(indices, gradient.shape, axis, adds)
            lines = gradient[tuple(slice(None if i == axis else n) for i, n in enumerate(indices.shape))]
            found["updates"] = f.where(used, take_along_axis(lines, indices, axis), 0.0)
    return found


def _used(indices: Tensor, sizes: Sequence[int], axis: int | None, adds: bool) -> Tensor:
    return (
        f.less(linear_indices(indices, sizes, axis), math.prod(sizes)) if adds else is_last_write(indices, sizes, axis)
    )


def _adds(name: str, call: Call) -> bool:
    """Whether the reduction is "add", not "none". Raises `GradientError` for others."""
    if call["reduction"] not in ("add", "none"):
        raise GradientError(f"{name} with reduction={call['reduction']!r} has no gradient; use 'add' or 'none'")
    return call["reduction"] == "add"


constant("it depends on indices, which are integers", "one_hot")
constant("it is flat: a winner is 1, however large", "hardmax")
