"""Attention in f64, put together from products, elementwise operations and reductions: scores are written to memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..tensor import Tensor
from .elementwise import fused
from .functions import exp, greater_equal, isinf, less, less_equal, logical_and, tanh, where
from .matmul import matmul
from .reduce import max as largest
from .reduce import sum as total


def attend(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, lengths: Tensor | None, bounds: dict[str, Any]
) -> Tensor:
    """As `ops.attention`, with the `bounds` that it gives its kernels."""
    n, heads, queries, width = q.shape
    shared, keys = k.shape[1:3]
    groups = (n, shared, heads // shared * queries)  # the rows that each head of k and v serves
    products = matmul(q.contiguous().reshape(*groups, width), k.permute(0, 1, 3, 2))
    scores = products.reshape(n, heads, queries, keys)
    scale, cap = bounds["scale"], bounds["cap"]
    scores = fused(lambda s: cap * tanh(s * scale / cap) if cap > 0 else s * scale, scores)
    if mask is not None:
        is_truth = mask.dtype.kind == "bool"
        scores = fused(lambda s, m: where(m, s, -math.inf) if is_truth else s + m, scores, mask)
    scores = _within(scores, lengths, bounds)
    if keys:
        top = fused(lambda t: where(isinf(t), 0.0, t), largest(scores, 3, True))
        powers = fused(lambda s, t: exp(s - t), scores, top)
        sums = fused(lambda s: where(s == 0.0, 1.0, s), total(powers, 3, True))  # a row that may attend nothing is 0
        scores = powers / sums
    return matmul(scores.reshape(*groups, keys), v).reshape(n, heads, queries, v.shape[3])


def _within(scores: Tensor, lengths: Tensor | None, bounds: dict[str, Any]) -> Tensor:
    """The scores of keys inside the window, and up to the length of each member; −∞ for all others."""
    queries, keys = scores.shape[2:]
    at, key = np.arange(queries, dtype=np.int32)[:, None], np.arange(keys, dtype=np.int32)
    counts = np.full((1, 1, 1, 1), keys, np.int32) if lengths is None else lengths.reshape(-1, 1, 1, 1)
    left, right = bounds["left"], bounds["right"]

    def held(s: Any, i: Any, j: Any, count: Any) -> Any:
        i = i + (count - queries if bounds["by_length"] else bounds["offset"])
        allowed = less(j, count)
        if left >= 0:
            allowed = logical_and(allowed, greater_equal(j, i - left))
        if right >= 0:
            allowed = logical_and(allowed, less_equal(j, i + right))
        return where(allowed, s, -math.inf)

    return fused(held, scores, at, key, counts)
