"""Gradients of what is put together from simpler operations, which have them: orders, blocks, resampling, lengths."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import GradientError
from ...tensor import Tensor
from .. import functions as f
from .. import launch
from ..activation import Activation
from ..differentiable import Call, rule, through
from ..gather import take, take_along_axis
from ..matmul import matmul
from ..reduce import Axes
from ..reduce import max as max_
from ..reduce import sum as sum_
from ..resize import resize
from ..segments import reduce_by_key
from ..sorting import argsort, topk


@through("sort")
def _(keys: Tensor, axis: int, descending: bool) -> Tensor:
    return take_along_axis(keys, argsort(keys.detach(), axis, descending=descending), axis)


@through("topk")
def _(x: Tensor, k: int, axis: int, largest: bool) -> tuple[Tensor, Tensor]:
    places = topk(x.detach(), k, axis, largest=largest)[1]
    return take_along_axis(x, places, axis), places


@rule("reduce_by_key", "keys")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    how, keys = call["how"], call["keys"]
    if how not in ("sum", "mean"):
        raise GradientError(f"reduce_by_key by {how!r} has no gradient; use 'sum' or 'mean'")
    back = take(gradient, keys, 0)
    if how == "mean":
        with Tensor.full(back.shape[0], 1.0) as ones:
            counts = take(reduce_by_key("sum", ones, keys, call["segments"]), keys, 0)
        back = back / counts.reshape(-1, *[1] * (back.ndim - 1))
    return {"x": back}


@through("gemm")
def _(
    a: Any, b: Any, c: Any, alpha: float, beta: float, trans_a: bool, trans_b: bool, activation: Activation
) -> Tensor:
    with launch.operands(a, b) as (left, right):
        product = matmul(left.T if trans_a else left, right.T if trans_b else right) * alpha
        return product if c is None else product + f.multiply(c, beta)


@through("tile")
def _(x: Tensor, repeats: int | Sequence[int]) -> Tensor:
    times = (repeats,) if isinstance(repeats, int) else tuple(repeats)
    times = (1,) * (x.ndim - len(times)) + times
    x = x[(None,) * (len(times) - x.ndim)]
    wide = x[tuple(part for _ in times for part in (None, slice(None)))]
    shape = [n for pair in zip(times, x.shape, strict=True) for n in pair]
    whole = [n * t for n, t in zip(x.shape, times, strict=True)]
    return wide.expand(*shape).contiguous().reshape(*whole)


@through("tril")
def _(x: Tensor, k: int) -> Tensor:
    return f.where(np.tril(np.ones(x.shape[-2:], bool), k), x, 0.0)


@through("triu")
def _(x: Tensor, k: int) -> Tensor:
    return f.where(np.triu(np.ones(x.shape[-2:], bool), k), x, 0.0)


@through("depth_to_space")
def _(x: Tensor, block: int, channels_first: bool) -> Tensor:
    n, depth, height, width = x.shape
    channels = depth // block**2
    if channels_first:
        parts = x.contiguous().reshape(n, channels, block, block, height, width).permute(0, 1, 4, 2, 5, 3)
    else:
        parts = x.contiguous().reshape(n, block, block, channels, height, width).permute(0, 3, 4, 1, 5, 2)
    return parts.contiguous().reshape(n, channels, height * block, width * block)


@through("space_to_depth")
def _(x: Tensor, block: int) -> Tensor:
    n, channels, height, width = x.shape
    parts = x.contiguous().reshape(n, channels, height // block, block, width // block, block)
    return parts.permute(0, 3, 5, 1, 2, 4).contiguous().reshape(n, channels * block**2, height // block, width // block)


@through("resize")
def _(
    x: Tensor,
    size: Sequence[int] | None,
    scale: Sequence[float] | None,
    axes: Sequence[int] | None,
    region: Sequence[tuple[float, float]] | None,
    outside: float,
    keep: str,
    **options: Any,
) -> Tensor:
    """Axis by axis, as a product with the matrix that resampling is."""
    if outside or keep != "stretch":
        raise GradientError("resize with outside, or keep other than 'stretch', has no gradient; give the size")
    for number, axis in enumerate(range(x.ndim) if axes is None else axes):
        at = launch.normal_axis(axis, x.ndim)
        own: dict[str, Any] = {"size": None if size is None else [size[number]], "axes": [1], **options}
        own |= {"scale": None if scale is None else [scale[number]]}
        own |= {"region": None if region is None else [region[number]]}
        matrix = resize(np.eye(x.shape[at], dtype=np.float32), **own)
        others = [i for i in range(x.ndim) if i != at]
        back = [*others, at]
        x = matmul(x.permute(*back), matrix).permute(*(back.index(i) for i in range(x.ndim)))
    return x.contiguous()


@through("l1")
def _(x: Tensor, axis: Axes, keepdims: bool) -> Tensor:
    return sum_(f.absolute(x), axis, keepdims)


@through("sum_square")
def _(x: Tensor, axis: Axes, keepdims: bool) -> Tensor:
    return sum_(f.square(x), axis, keepdims)


@through("log_sum_exp")
def _(x: Tensor, axis: Axes, keepdims: bool) -> Tensor:
    top = max_(x.detach(), axis, True)
    top = f.where(f.isinf(top), 0.0, top)
    sums = f.log(sum_(f.exp(x - top), axis, True)) + top
    return sums if keepdims else sum_(sums, axis)


@through("lp_norm")
def _(x: Tensor, axis: Axes, p: float) -> Tensor:
    return _length(x, axis, p)


@through("lp_normalize")
def _(x: Tensor, axis: Axes, p: float, least: float) -> Tensor:
    return x / f.maximum(_length(x, axis, p), max(least, 1.2e-38))


def _length(x: Tensor, axis: Axes, p: float) -> Tensor:
    if math.isinf(p):
        return max_(f.absolute(x), axis, True)
    if p == 1:
        return sum_(f.absolute(x), axis, True)
    if p == 2:
        return f.sqrt(sum_(f.square(x), axis, True))
    return f.power(sum_(f.power(f.absolute(x), p), axis, True), 1.0 / p)
