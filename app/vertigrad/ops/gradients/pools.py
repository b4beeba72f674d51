"""Gradients of pooling and padding."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...errors import GradientError
from ...tensor import Tensor
from .. import launch
from ..conv import conv_transpose
from ..differentiable import Call, rule
from ..gather import take_along_axis
from ..pool import average_pool, max_pool_gradient, max_pool_with_places
from ..scatter import gather_nd
from ..window import Window
from .joining import sum_at


@rule("max_pool", "x")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    """To the first of the largest elements of each window: every element adds up the windows that chose it."""
    x = call["x"]
    _, places = max_pool_with_places(x, call["size"], **_options(call))
    return {"x": max_pool_gradient(gradient, places, x.shape, call["size"], **_options(call))}


@rule("average_pool")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    """Each window's gradient, shared among the elements that it has."""
    shape, given = call.shapes["x"], _options(call)
    if given.pop("ceil"):
        raise GradientError("average_pool with ceil has no gradient; pad x instead")
    window = Window.of(
        "average_pool", shape[2:], call["size"], given["stride"] or 1, given["padding"], given["dilation"]
    )
    count = math.prod(window.size)
    if not call["count_padding"]:
        ones = np.ones((1, 1, *shape[2:]), np.float32)
        gradient = gradient / average_pool(ones, call["size"], count_padding=True, **given)
    with Tensor.full((shape[1], 1, *window.size), 1.0 / count) as shares:
        return {"x": _stretched(gradient, shares, window, shape)}


def _stretched(gradient: Tensor, weights: Tensor, window: Window, shape: tuple[int, ...]) -> Tensor:
    sizes = zip(gradient.shape[2:], window.stride, window.extent, window.begin, window.end, strict=True)
    reached = [(n - 1) * s + e - b - a for n, s, e, b, a in sizes]
    return conv_transpose(
        gradient,
        weights,
        stride=window.stride,
        padding=list(zip(window.begin, window.end, strict=True)),
        output_padding=[n - end for n, end in zip(shape[2:], reached, strict=True)],
        dilation=window.dilation,
        groups=shape[1],
    )


@rule("pad")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    if call["mode"] != "constant":
        raise GradientError(f"pad by {call['mode']!r} has no gradient; use 'constant'")
    shape, given = call.shapes["x"], call["padding"]
    pairs = [given] * len(shape) if isinstance(given, int) else list(given)
    pairs = [(pair, pair) if isinstance(pair, int) else tuple(pair) for pair in pairs]
    if any(min(pair) < 0 for pair in pairs):
        raise GradientError(f"pad by {given}, which cuts off, has no gradient; take a slice instead")
    return {"x": gradient[tuple(slice(b, b + n) for n, (b, _) in zip(shape, pairs, strict=True))]}


@rule("gather_nd", "indices")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    if call["batch_axes"]:
        raise GradientError("gather_nd with batch_axes has no gradient; put the member into the indices")
    with launch.tensors(call["indices"]) as (indices,):
        return {"x": sum_at(gradient, indices, call.shapes["x"])}


@rule("scatter_nd", "indices")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    if call["join"] != "add":
        raise GradientError(f"scatter_nd by {call['join']!r} has no gradient; use 'add'")
    found = {"x": gradient}
    if "updates" in call.wanted:
        found["updates"] = gather_nd(gradient, call["indices"])
    return found


@rule("scatter_elements", "indices")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    if call["join"] != "add":
        raise GradientError(f"scatter_elements by {call['join']!r} has no gradient; use 'add'")
    found = {"x": gradient}
    if "updates" in call.wanted:
        shape, axis = call.shapes["updates"], launch.normal_axis(call["axis"], gradient.ndim)
        lines = gradient[tuple(slice(None if i == axis else n) for i, n in enumerate(shape))]
        found["updates"] = take_along_axis(lines, call["indices"], axis)
    return found


def _options(call: Call) -> dict[str, Any]:
    return {name: call[name] for name in ("stride", "padding", "dilation", "ceil")}
