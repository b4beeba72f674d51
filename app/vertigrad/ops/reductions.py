"""Reductions put together from others: norms, sums of squares, logarithms of sums, last argmax."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..errors import ShapeError
from ..tensor import Tensor, f32
from . import launch
from .define import Operand
from .differentiable import differentiable
from .elementwise import fused
from .functions import absolute, exp, isinf, log, not_equal, power, sqrt, square, subtract, where
from .reduce import Axes, argmax, argmin
from .reduce import max as largest
from .reduce import min as smallest
from .reduce import sum as total


def l1(x: Operand, axis: Axes = None, keepdims: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Σ |x| over `axis`."""
    with launch.tensors(x, composed=True) as (source,), absolute(source) as sizes:
        return total(sizes, axis, keepdims, out=out)


@differentiable
def l2(x: Operand, axis: Axes = None, keepdims: bool = False, *, out: Tensor | None = None) -> Tensor:
    """√(Σ x²) over `axis`, f32 or f16."""
    with sum_square(x, axis, keepdims) as sums:
        return sqrt(sums, out=out)


def sum_square(x: Operand, axis: Axes = None, keepdims: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Σ x² over `axis`."""
    with launch.tensors(x, composed=True) as (source,), square(source) as squares:
        return total(squares, axis, keepdims, out=out)


def norm(
    x: Operand,
    ord: float | str | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The norm of vectors along `axis`, or of matrices along two axes, as `numpy.linalg.norm`; f32, or f16 of f16.

    Without `ord` √(Σ x²), over all of x if there is no `axis`. Of vectors `ord` is p in (Σ |x|ᵖ)^(1/p), and may be inf,
    -inf, or 0 for how many are not 0; of matrices "fro", 1, -1, inf or -inf. An `ord` without `axis` takes x as it is,
    a vector or a matrix. Raises `ShapeError` for others: those of singular values, and of more axes.
    """
    with launch.tensors(x, composed=True) as (source,):
        return launch.deliver("norm", _norm(source, ord, axis, keepdims), out)


def _norm(x: Tensor, ord: float | str | None, axis: int | Sequence[int] | None, keepdims: bool) -> Tensor:
    launch.normal_axes(axis, x.ndim)  # raises if one is named twice
    requested = range(x.ndim) if axis is None else [axis] if isinstance(axis, int | np.integer) else axis
    axes = tuple(launch.normal_axis(at, x.ndim) for at in requested)
    if axis is None and ord is not None and x.ndim not in (1, 2):
        raise ShapeError(f"norm: ord {ord} of a tensor of shape {x.shape} needs an axis, or two")
    wide = x if x.dtype is f32 else x.to(f32)  # squares of f16 soon pass its range
    if ord is None or (ord == "fro" and len(axes) == 2):
        found = l2(wide, axes, keepdims)
    elif len(axes) == 1 and not isinstance(ord, str):
        found = _vector_norm(wide, float(ord), axes[0], keepdims)
    elif len(axes) == 2 and ord in (1, -1, math.inf, -math.inf):
        found = _matrix_norm(wide, float(ord), (axes[0], axes[1]), keepdims)
    else:
        kinds = {1: "vectors", 2: "matrices"}
        raise ShapeError(f"norm: ord {ord!r} of {kinds.get(len(axes), f'{len(axes)} axes')} is not known")
    return found.to(x.dtype) if x.dtype.kind == "float" and x.dtype is not f32 else found


def _vector_norm(x: Tensor, ord: float, axis: int, keepdims: bool) -> Tensor:
    if ord == 2.0:
        return l2(x, axis, keepdims)
    if ord == 0.0:
        return total(not_equal(x, 0.0).to(f32), axis, keepdims)
    sizes = absolute(x)
    if math.isinf(ord):
        return (largest if ord > 0.0 else smallest)(sizes, axis, keepdims)
    sums = total(sizes if ord == 1.0 else power(sizes, ord), axis, keepdims)
    return sums if ord == 1.0 else power(sums, 1.0 / ord)


def _matrix_norm(x: Tensor, ord: float, axes: tuple[int, int], keepdims: bool) -> Tensor:
    """The largest sum of |x| of a column (1) or a row (inf); the smallest one where `ord` is below 0."""
    summed, left = axes if abs(ord) == 1.0 else axes[::-1]
    extreme = (largest if ord > 0.0 else smallest)(l1(x, summed, True), left, True)
    return extreme if keepdims else extreme[tuple(0 if at in axes else slice(None) for at in range(x.ndim))]


def log_sum(x: Operand, axis: Axes = None, keepdims: bool = False, *, out: Tensor | None = None) -> Tensor:
    """log Σ x over `axis`, f32 or f16."""
    with total(x, axis, keepdims) as sums:
        return log(sums, out=out)


def log_sum_exp(x: Operand, axis: Axes = None, keepdims: bool = False, *, out: Tensor | None = None) -> Tensor:
    """log Σ eˣ over `axis`, f32 or f16, whatever the size of x; −∞ of no elements."""
    with launch.tensors(x, composed=True) as (source,):
        if not source.dtype.is_real:  # differences of integers wrap
            with source.to(f32) as floats:
                return log_sum_exp(floats, axis, keepdims, out=out)
        if not source.size:
            return log_sum(source, axis, keepdims, out=out)
        with largest(source.detach(), axis, True) as top:
            finite = fused(lambda t: where(isinf(t), 0, t), top)
            with (
                fused(lambda v, t: exp(v - t), source, finite) as exponentials,
                total(exponentials, axis, True) as sums,
            ):
                axes = launch.normal_axes(axis, source.ndim)
                key = tuple(0 if i in axes and not keepdims else slice(None) for i in range(source.ndim))
                return fused(lambda s, t: log(s) + t, sums[key], finite[key], out=out)


@differentiable
def last_argmax(x: Operand, axis: int, keepdims: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Index of the last largest value along `axis`, i32."""
    return _last(argmax, x, axis, keepdims, out)


@differentiable
def last_argmin(x: Operand, axis: int, keepdims: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Index of the last smallest value along `axis`, i32."""
    return _last(argmin, x, axis, keepdims, out)


def _last(function, x: Operand, axis: int, keepdims: bool, out: Tensor | None) -> Tensor:  # type: ignore[no-untyped-def]
    with launch.tensors(x) as (source,):
        at = launch.normal_axis(axis, source.ndim)
        backwards = source[(*[slice(None)] * at, slice(None, None, -1))]
        with function(backwards, at, keepdims) as indices:
            return subtract(source.shape[at] - 1, indices, out=out)
