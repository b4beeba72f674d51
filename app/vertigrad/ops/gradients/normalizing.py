"""Normalizations and attention in steps that have gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensor import Tensor, bool_, f32, promote
from .. import functions as f
from .. import launch
from ..differentiable import through
from ..matmul import matmul
from ..pool import average_pool
from ..reduce import max as max_
from ..reduce import mean
from ..softmax import softmax
from .precision import narrow, wide
from .products import swapped


@through("layer_norm_with_statistics")
def _(x: Tensor, scale: Any, bias: Any, axes: int, epsilon: float, _store: bool) -> tuple[Tensor, Tensor, Tensor]:
    whole, block = wide(x), tuple(range(-axes, 0))
    middle = mean(whole, block, True)
    away = whole - middle
    inverse = f.rsqrt(mean(f.square(away), block, True) + epsilon)
    return narrow(_scaled(away * inverse, scale, bias), x), middle, inverse


@through("rms_norm")
def _(x: Tensor, scale: Any, axes: int, epsilon: float) -> Tensor:
    whole = wide(x)
    squares = mean(f.square(whole), tuple(range(-axes, 0)), True)
    return narrow(_scaled(whole * f.rsqrt(squares + epsilon), scale, None), x)


@through("group_norm")
def _(x: Tensor, groups: int, scale: Any, bias: Any, epsilon: float) -> Tensor:
    parts = _normal(wide(x).contiguous().reshape(x.shape[0], groups, -1), (2,), epsilon)
    if next((value.shape for value in (scale, bias) if value is not None), ()) == (groups,):
        return narrow(_by_channel(parts, scale, bias).reshape(*x.shape), x)
    return narrow(_by_channel(parts.reshape(*x.shape), scale, bias), x)


@through("batch_norm")
def _(x: Tensor, scale: Any, bias: Any, mean: Any, variance: Any, epsilon: float) -> Tensor:
    s, b, m, v = (value.reshape(-1, *[1] * (x.ndim - 2)) for value in (scale, bias, mean, variance))
    return narrow((wide(x) - m) * (s * f.rsqrt(wide(v) + epsilon)) + b, x)


@through("local_response_norm")
def _(x: Tensor, size: int, alpha: float, beta: float, k: float) -> Tensor:
    """The mean of squares of neighboring channels is that of a window that slides over them."""
    before = (size - 1) // 2
    rows = f.square(wide(x)).contiguous().reshape(len(x), 1, x.shape[1], -1)
    means = average_pool(rows, (size, 1), padding=[(before, size - 1 - before), (0, 0)], count_include_pad=True)
    return narrow(x / f.power(means.reshape(*x.shape) * alpha + k, beta), x)


@through("attention")
def _(q: Tensor, k: Tensor, v: Tensor, mask: Any, scale: float | None, **options: Any) -> Tensor:
    """The scores of all pairs are stored, queries times keys of them. A row that may attend nothing is 0."""
    dtype = promote(promote(q.dtype, k.dtype), v.dtype)
    k, v = (_repeated(wide(heads), q.shape[1]) for heads in (k, v))
    scores = matmul(wide(q), swapped(k)) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if options["softcap"]:
        scores = f.tanh(scores * (1.0 / options["softcap"])) * options["softcap"]
    allowed = _window(scores.shape, **{name: value for name, value in options.items() if name != "softcap"})
    if mask is not None and mask.dtype in (bool_, np.bool_):
        allowed = mask if allowed is None else f.logical_and(allowed, mask)
    elif mask is not None:
        scores = scores + mask
        allowed = f.not_equal(scores.detach(), -np.inf) if allowed is None else allowed
    weights = softmax(scores) if allowed is None else _normalized(f.where(allowed, scores, -np.inf))
    result = matmul(weights, v)
    return result if dtype is f32 else result.to(dtype)


def _normalized(scores: Tensor) -> Tensor:
    some = f.not_equal(max_(scores.detach(), -1, True), -np.inf)
    return f.where(some, softmax(f.where(some, scores, 0.0)), 0.0)


def _window(
    shape: tuple[int, ...], causal: bool, left: int | None, right: int | None, offset: int | None, lengths: Any
) -> Tensor | None:
    """Which keys each query may attend, for scores of `shape`: a bool that broadcasts to it; None where all."""
    right = 0 if causal else right
    if left is None and right is None and lengths is None:
        return None
    queries, keys = shape[-2:]
    with launch.operands(np.arange(queries, dtype=np.int32)[:, None], np.arange(keys, dtype=np.int32)) as (at, key):
        allowed = f.greater_equal(key, 0)
        at = at + (offset or 0)
        if lengths is not None:
            with launch.tensors(lengths) as (valid_lengths,):
                ends = valid_lengths[:, None, None, None]
                allowed = f.less(key, ends)
                at = at + (ends - queries) if offset is None else at
        if left is not None:
            allowed = f.logical_and(allowed, f.greater_equal(key, at - left))
        return allowed if right is None else f.logical_and(allowed, f.less_equal(key, at + right))


def _normal(x: Tensor, axes: tuple[int, ...], epsilon: float) -> Tensor:
    away = x - mean(x, axes, True)
    return away * f.rsqrt(mean(f.square(away), axes, True) + epsilon)


def _scaled(x: Tensor, scale: Any, bias: Any) -> Tensor:
    x = x if scale is None else x * scale
    return x if bias is None else x + bias


def _by_channel(x: Tensor, scale: Any, bias: Any) -> Tensor:
    spread = [None if value is None else value.reshape(-1, *[1] * (x.ndim - 2)) for value in (scale, bias)]
    return _scaled(x, *spread)


def _repeated(heads: Tensor, count: int) -> Tensor:
    """Each head as often as it serves queries' heads."""
    members, own, rows, width = heads.shape
    if own == count:
        return heads
    spread = heads[:, :, None].expand(members, own, count // own, rows, width)
    return spread.contiguous().reshape(members, count, rows, width)
