"""Reductions put together from others: lengths, sums of squares, logarithms of sums, last places."""

from __future__ import annotations

from ..tensor import Tensor, f32
from . import launch
from .define import Operand
from .differentiable import differentiable
from .elementwise import fused
from .functions import absolute, exp, isinf, log, sqrt, subtract, where
from .reduce import Axes, argmax, argmin
from .reduce import max as largest
from .reduce import sum as total


@differentiable
def l1(x: Operand, axis: Axes = None, keepdims: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Σ |x| over `axis`."""
    with launch.tensors(x) as (source,), absolute(source) as sizes:
        return total(sizes, axis, keepdims, out=out)


@differentiable
def l2(x: Operand, axis: Axes = None, keepdims: bool = False, *, out: Tensor | None = None) -> Tensor:
    """√(Σ x²) over `axis`, f32 or f16."""
    with sum_square(x, axis, keepdims) as sums:
        return sqrt(sums, out=out)


@differentiable
def sum_square(x: Operand, axis: Axes = None, keepdims: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Σ x² over `axis`."""
    with launch.tensors(x) as (source,), fused(lambda v: v * v, source) as squares:
        return total(squares, axis, keepdims, out=out)


def log_sum(x: Operand, axis: Axes = None, keepdims: bool = False, *, out: Tensor | None = None) -> Tensor:
    """log Σ x over `axis`, f32 or f16."""
    with total(x, axis, keepdims) as sums:
        return log(sums, out=out)


@differentiable
def log_sum_exp(x: Operand, axis: Axes = None, keepdims: bool = False, *, out: Tensor | None = None) -> Tensor:
    """log Σ eˣ over `axis`, f32 or f16, whatever the size of x; −∞ of no elements."""
    with launch.tensors(x) as (source,):
        if not source.size:
            return log_sum(source.to(f32) if source.dtype.kind != "float" else source, axis, keepdims, out=out)
        with largest(source, axis, True) as top:
            finite = fused(lambda t: where(isinf(t), 0, t), top)
            with fused(lambda v, t: exp(v - t), source, finite) as shares, total(shares, axis, True) as sums:
                axes = launch.normal_axes(axis, source.ndim)
                key = tuple(0 if i in axes and not keepdims else slice(None) for i in range(source.ndim))
                return fused(lambda s, t: log(s) + t, sums[key], finite[key], out=out)


@differentiable
def last_argmax(x: Operand, axis: int, keepdims: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Place of the last largest value along `axis`, i32."""
    return _last(argmax, x, axis, keepdims, out)


@differentiable
def last_argmin(x: Operand, axis: int, keepdims: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Place of the last smallest value along `axis`, i32."""
    return _last(argmin, x, axis, keepdims, out)


def _last(function, x: Operand, axis: int, keepdims: bool, out: Tensor | None) -> Tensor:  # type: ignore[no-untyped-def]
    with launch.tensors(x) as (source,):
        at = launch.normal_axis(axis, source.ndim)
        backwards = source[(*[slice(None)] * at, slice(None, None, -1))]
        with function(backwards, at, keepdims) as places:
            return subtract(source.shape[at] - 1, places, out=out)
