"""Gradients of running totals and of totals of segments: sums from the other end, and totals spread out again."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...tensor import Tensor
from .. import functions as f
from .. import launch
from ..creation import zeros
from ..differentiable import Call, constant, rule
from ..elementwise import fused
from ..scans import scan
from ..segments import segmented_reduce, spread_segments
from .joining import sum_at


@rule("scan", "x")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    """In the order in which it ran. What leaves out an element's own value is what was total one element before."""
    x, how, exclusive = call["x"], call["how"], call["exclusive"]
    at = launch.normal_axis(call["axis"], x.ndim)
    if how == "sum":
        return {"x": scan("sum", gradient, at, exclusive=exclusive, reverse=not call["reverse"])}
    turned = (*[slice(None)] * at, slice(None, None, -1 if call["reverse"] else 1))
    incoming = _earlier(gradient[turned], at) if exclusive else gradient[turned]
    found = _of_products(incoming, x[turned], at) if how == "prod" else _of_extremes(incoming, x[turned], how, at)
    return {"x": found[turned]}


@rule("segmented_reduce", "x", "offsets", "result")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    """Rows that are as small (or large) as their segment's result get equal parts of the gradient."""
    x, how = call["x"], call["how"]
    with launch.tensors(call["offsets"]) as (offsets,):
        back = spread_segments(gradient, offsets, len(x), mean=how == "mean")
        if how in ("min", "max"):
            best = spread_segments(call["result"], offsets, len(x))
            chosen = fused(lambda v, r: f.where(f.equal(v, r), 1.0, 0.0), x, best)
            ties = spread_segments(segmented_reduce("sum", chosen, offsets), offsets, len(x))
            back = fused(lambda g, c, s: g * c / f.maximum(s, 1.0), back, chosen, ties)
    return {"x": back}


constant("it is offsets, integers", "segment_starts")


def _earlier(gradient: Tensor, at: int) -> Tensor:
    """One element towards the beginning of `axis`; 0 at the end."""
    moved = zeros(gradient.shape, gradient.dtype)
    if gradient.shape[at] > 1:
        before = (*[slice(None)] * at, slice(-1))
        after = (*[slice(None)] * at, slice(1, None))
        moved[before] = gradient[after]
    return moved


def _of_products(gradient: Tensor, x: Tensor, at: int) -> Tensor:
    """Σ over i ≥ k of g[i] · Π of x[j ≤ i] but x[k]: without the first zero at the first zero, and 0 behind it."""
    is_zero = f.where(f.equal(x, 0.0), 1, 0)
    met = scan("sum", is_zero, at)
    first = f.logical_and(f.equal(x, 0.0), f.equal(met, 1))
    others = scan("prod", f.where(first, 1.0, x), at)
    whole = fused(lambda g, m, o: g * f.where(f.equal(m, 0), o, 0.0), gradient, met, others)
    sums = scan("sum", whole, at, reverse=True)
    at_zero = scan("sum", f.multiply(gradient, others), at, reverse=True)
    return fused(
        lambda v, m, one, s, b: f.where(one, b, f.where(f.equal(m, 0), s / v, 0.0)), x, met, first, sums, at_zero
    )


def _of_extremes(gradient: Tensor, x: Tensor, how: str, at: int) -> Tensor:
    """To the last element so far that is as small (or large) as the running result."""
    steps = np.arange(x.shape[at], dtype=np.int32).reshape(-1, *[1] * (x.ndim - at - 1))
    with launch.tensors(steps) as (positions,):
        record = f.where(f.equal(x, scan(how, x, at)), positions, -1)
        indices = scan("max", record, at)
    return sum_at(gradient, indices, x.shape, at)
