"""Gradients of what is put together from simpler operations, which have them: orders, blocks, resampling, lengths."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

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
from ..scans import scan
from ..sorting import argsort, topk


@through("sort")
def _(keys: Tensor, axis: int, descending: bool) -> Tensor:
    return take_along_axis(keys, argsort(keys.detach(), axis, descending=descending), axis)


@through("sort_pairs")
def _(keys: Tensor, values: Any, axis: int, descending: bool, key_bits: int) -> tuple[Tensor, Tensor]:
    """To the keys and, where they are given, to the values."""
    with launch.operands(keys, *([] if values is None else [values])) as (array, *others):
        indices = argsort(array.detach(), axis, descending=descending)
        return take_along_axis(array, indices, axis), take_along_axis(others[0], indices, axis) if others else indices


@through("topk")
def _(x: Tensor, k: int, axis: int, largest: bool) -> tuple[Tensor, Tensor]:
    indices = topk(x.detach(), k, axis, largest=largest)[1]
    return take_along_axis(x, indices, axis), indices


@through("gemm")
def _(
    a: Any, b: Any, c: Any, alpha: float, beta: float, trans_a: bool, trans_b: bool, activation: Activation
) -> Tensor:
    with launch.operands(a, b) as (left, right):
        product = matmul(left.T if trans_a else left, right.T if trans_b else right) * alpha
        return product if c is None else product + f.multiply(c, beta)


@through("tile")
def _(x: Tensor, repeats: int | Sequence[int]) -> Tensor:
    times = (int(repeats),) if isinstance(repeats, int | np.integer) else tuple(map(int, repeats))
    times = (1,) * (x.ndim - len(times)) + times
    x = x[(None,) * (len(times) - x.ndim)]
    wide = x[tuple(part for _ in times for part in (None, slice(None)))]
    shape = [n for pair in zip(times, x.shape, strict=True) for n in pair]
    whole = [n * t for n, t in zip(x.shape, times, strict=True)]
    return wide.expand(*shape).contiguous().reshape(*whole)


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


@through("l2")
def _(x: Tensor, axis: Axes, keepdims: bool) -> Tensor:
    length = _length(x, axis, 2.0)
    return length if keepdims else sum_(length, axis)


@through("lp_norm")
def _(x: Tensor, axis: Axes, p: float) -> Tensor:
    return _length(x, axis, p)


@through("lp_normalize")
def _(x: Tensor, axis: Axes, p: float, least: float) -> Tensor:
    return x / f.maximum(_length(x, axis, p), max(least, 1.2e-38))


def _length(x: Tensor, axis: Axes, p: float) -> Tensor:
    """The p-norm; where it is 0 it has a corner, and the gradient there is 0."""
    if math.isinf(p):
        return max_(f.absolute(x), axis, True)
    if p == 1:
        return sum_(f.absolute(x), axis, True)
    return root(sum_(f.square(x) if p == 2 else f.power(f.absolute(x), p), axis, True), p)


def root(sums: Tensor, p: float) -> Tensor:
    """sums^(1/p), and 0 with the gradient 0 where there is nothing to take a root of."""
    there = f.greater(sums, 0.0)
    some = f.where(there, sums, 1.0)
    return f.where(there, f.sqrt(some) if p == 2 else f.power(some, 1.0 / p), 0.0)


@rule("compact", "mask")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    """Each row that was chosen takes back what became of it; what comes after the last of them is not read."""
    shape = call.shapes["x"]
    with launch.tensors(call["mask"]) as (mask,):
        chosen = f.not_equal(mask.contiguous().reshape(-1), 0)
        ordinals = f.maximum(scan("sum", chosen, 0).to("i32"), 1) - 1
        rows = gradient.reshape(len(gradient), -1)
        return {"x": f.where(chosen[:, None], take(rows, ordinals, 0), 0.0).reshape(*shape)}
