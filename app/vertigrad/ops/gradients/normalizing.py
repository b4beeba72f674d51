"""Normalisations and attention in steps that have gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import GradientError
from ...tensor import Tensor, bool_
from .. import functions as f
from ..differentiable import through
from ..matmul import matmul
from ..reduce import mean
from ..softmax import softmax
from .products import swapped


@through("layer_norm")
def _(x: Tensor, scale: Any, bias: Any, axes: int, epsilon: float) -> Tensor:
    return _scaled(_normal(x, tuple(range(-axes, 0)), epsilon), scale, bias)


@through("rms_norm")
def _(x: Tensor, scale: Any, axes: int, epsilon: float) -> Tensor:
    squares = mean(f.square(x), tuple(range(-axes, 0)), True)
    return _scaled(x * f.rsqrt(squares + epsilon), scale, None)


@through("group_norm")
def _(x: Tensor, groups: int, scale: Any, bias: Any, epsilon: float) -> Tensor:
    parts = _normal(x.contiguous().reshape(x.shape[0], groups, -1), (2,), epsilon)
    if next((value.shape for value in (scale, bias) if value is not None), ()) == (groups,):
        return _by_channel(parts, scale, bias).reshape(*x.shape)
    return _by_channel(parts.reshape(*x.shape), scale, bias)


@through("instance_norm")
def _(x: Tensor, scale: Any, bias: Any, epsilon: float) -> Tensor:
    return _by_channel(_normal(x, tuple(range(2, x.ndim)), epsilon), scale, bias)


@through("batch_norm")
def _(x: Tensor, scale: Any, bias: Any, mean: Any, variance: Any, epsilon: float) -> Tensor:
    wide = [value.reshape(-1, *[1] * (x.ndim - 2)) for value in (scale, bias, mean, variance)]
    return (x - wide[2]) * (wide[0] * f.rsqrt(wide[3] + epsilon)) + wide[1]


@through("attention")
def _(q: Tensor, k: Tensor, v: Tensor, mask: Any, scale: float | None, **options: Any) -> Tensor:
    """The scores of all pairs are kept, queries times keys of them."""
    if any(options[name] is not None for name in ("left", "right", "offset", "lengths")):
        raise GradientError("attention with left, right, offset or lengths has no gradient; give it a mask")
    k, v = (_repeated(heads, q.shape[1]) for heads in (k, v))
    scores = matmul(q, swapped(k)) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if options["softcap"]:
        scores = f.tanh(scores * (1.0 / options["softcap"])) * options["softcap"]
    if options["causal"]:
        scores = f.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    if mask is not None:
        scores = f.where(mask, scores, -np.inf) if mask.dtype in (bool_, np.bool_) else scores + mask
    return matmul(softmax(scores), v)


def _normal(x: Tensor, axes: tuple[int, ...], epsilon: float) -> Tensor:
    away = x - mean(x, axes, True)
    return away * f.rsqrt(mean(f.square(away), axes, True) + epsilon)


def _scaled(x: Tensor, scale: Any, bias: Any) -> Tensor:
    x = x if scale is None else x * scale
    return x if bias is None else x + bias


def _by_channel(x: Tensor, scale: Any, bias: Any) -> Tensor:
    wide = [None if value is None else value.reshape(-1, *[1] * (x.ndim - 2)) for value in (scale, bias)]
    return _scaled(x, *wide)


def _repeated(heads: Tensor, count: int) -> Tensor:
    """Each head as often as it serves queries' heads."""
    members, own, rows, width = heads.shape
    if own == count:
        return heads
    wide = heads[:, :, None].expand(members, own, count // own, rows, width)
    return wide.contiguous().reshape(members, count, rows, width)
