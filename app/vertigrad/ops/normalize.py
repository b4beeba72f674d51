"""Normalizations of networks, for f32 and f16, computed in f32, and for f64.

Axes are (N, C, ...) where channels are spoken of.
"""

from __future__ import annotations

import math
from typing import Any

from ..errors import DtypeError, ShapeError
from ..gpu import Kernel
from ..tensor import Tensor, f32, f64
from . import launch
from .define import Operand
from .differentiable import differentiable
from .doubles import narrowing
from .elementwise import assign, fused
from .functions import absolute, divide, maximum, power, sqrt, square
from .reduce import Axes, mean
from .reduce import max as largest
from .reduce import sum as total

WORKGROUP = 256
CACHED = 8  # elements that an invocation keeps from one pass to the next


@differentiable
def batch_norm(
    x: Operand,
    scale: Operand,
    bias: Operand,
    mean: Operand,
    variance: Operand,
    epsilon: float = 1e-5,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """(x − mean) / √(variance + epsilon) · scale + bias, all of shape (C,): batch normalization in inference."""
    with launch.tensors(x, scale, bias, mean, variance) as (source, *parameters):
        channels = source.shape[1] if source.ndim > 1 else 1
        for name, tensor in zip(("scale", "bias", "mean", "variance"), parameters, strict=True):
            if tensor.shape != (channels,):
                raise ShapeError(f"batch_norm: {name} of shape {tensor.shape} for {channels} channels")
        out = _prepare_output("batch_norm", source, out)
        wide = [t[(slice(None), *[None] * (source.ndim - 2))] if source.ndim > 1 else t for t in parameters]
        return fused(lambda v, s, b, m, n: (v - m) * (s / sqrt(n + epsilon)) + b, source, *wide, out=out)


def layer_norm(
    x: Operand,
    scale: Operand | None = None,
    bias: Operand | None = None,
    *,
    axes: int = 1,
    epsilon: float = 1e-5,
    out: Tensor | None = None,
) -> Tensor:
    """Each block along the last `axes` axes brought to mean 0 and variance 1, times `scale` plus `bias`.

    These have the shape of a block, or one that broadcasts to it.
    """
    return layer_norm_with_statistics(x, scale, bias, axes=axes, epsilon=epsilon, out=out, _store=False)[0]


@differentiable
def layer_norm_with_statistics(
    x: Operand,
    scale: Operand | None = None,
    bias: Operand | None = None,
    *,
    axes: int = 1,
    epsilon: float = 1e-5,
    out: Tensor | None = None,
    _store: bool = True,
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """`layer_norm`, the means, and 1 / √(variance + epsilon), both f32 with axes of 1 where x was normalized."""
    with launch.tensors(x, scale, bias) as (source, factor, shift):
        block = _block("layer_norm", source, axes)
        statistics: list[Tensor | None] = [None, None]
        if _store:
            shape = (*source.shape[: source.ndim - axes], *[1] * axes)
            statistics = [Tensor.empty(shape, f32, temporary=True) for _ in range(2)]
        out = _rows(
            "layer_norm",
            source,
            math.prod(block),
            _broadcast(factor, block),
            _broadcast(shift, block),
            epsilon,
            out,
            statistics=statistics,
        )
    return out, statistics[0], statistics[1]


@differentiable
def rms_norm(
    x: Operand, scale: Operand | None = None, *, axes: int = 1, epsilon: float = 1e-5, out: Tensor | None = None
) -> Tensor:
    """x / √(mean of x² + epsilon) · scale over each block along the last `axes` axes."""
    with launch.tensors(x, scale) as (source, factor):
        block = _block("rms_norm", source, axes)
        return _rows(
            "rms_norm", source, math.prod(block), _broadcast(factor, block), None, epsilon, out, centered=False
        )


@differentiable
def group_norm(
    x: Operand,
    groups: int,
    scale: Operand | None = None,
    bias: Operand | None = None,
    *,
    epsilon: float = 1e-5,
    out: Tensor | None = None,
) -> Tensor:
    """Each of `groups` groups of channels of each member brought to mean 0 and variance 1; then · scale + bias, (C,).

    With scale and bias of shape (groups,) there is one for each group.
    """
    with launch.tensors(x, scale, bias) as (source, factor, shift):
        if source.ndim < 2 or groups < 1 or source.shape[1] % groups:
            raise ShapeError(f"group_norm: x {source.shape} has no {groups} groups of channels")
        channels = source.shape[1]
        for name, tensor in (("scale", factor), ("bias", shift)):
            if tensor is not None and tensor.shape not in ((channels,), (groups,)):
                raise ShapeError(
                    f"group_norm: {name} of shape {tensor.shape} for {channels} channels in {groups} groups"
                )
        each = next((t.shape[0] for t in (factor, shift) if t is not None), channels) // groups
        count = source.size // max(source.shape[0] * groups, 1)
        run = max(count // max(each, 1), 1)
        return _rows("group_norm", source, count, factor, shift, epsilon, out, period=groups, row_step=each, run=run)


def instance_norm(
    x: Operand,
    scale: Operand | None = None,
    bias: Operand | None = None,
    *,
    epsilon: float = 1e-5,
    out: Tensor | None = None,
) -> Tensor:
    """Each channel of each member brought to mean 0 and variance 1; then · scale + bias, both (C,)."""
    with launch.tensors(x, composed=True) as (source,):
        if source.ndim < 2:
            raise ShapeError(f"instance_norm: x {source.shape} has no channels")
        return group_norm(source, max(source.shape[1], 1), scale, bias, epsilon=epsilon, out=out)


@differentiable
def lp_norm(x: Operand, axis: Axes = -1, p: float = 2, *, out: Tensor | None = None) -> Tensor:
    """(Σ |x|ᵖ)^(1/p) along `axis`, retained as an axis of 1; p may be infinite."""
    with launch.tensors(x) as (source,):
        if math.isinf(p):
            with absolute(source) as sizes:
                return largest(sizes, axis, True, out=out)
        with fused(lambda v: absolute(v) if p == 1 else v * v if p == 2 else power(absolute(v), p), source) as powers:
            sums = total(powers, axis, True, out=out)
        return sums if p == 1 else sqrt(sums, out=sums) if p == 2 else power(sums, 1 / p, out=sums)


@differentiable
def lp_normalize(x: Operand, axis: Axes = -1, p: float = 2, *, least: float = 0.0, out: Tensor | None = None) -> Tensor:
    """x divided by its p-norm along `axis`, and by `least` where that is smaller; 0 / 0 gives 0."""
    with launch.tensors(x) as (source,), lp_norm(source, axis, p) as norm:
        out = _prepare_output("lp_normalize", source, out)
        floor = max(least, 2.3e-308 if source.dtype is f64 else 1.2e-38)
        return fused(lambda v, n: divide(v, maximum(n, floor)), source, norm, out=out)


@differentiable
def local_response_norm(
    x: Operand,
    size: int,
    *,
    alpha: float = 1e-4,
    beta: float = 0.75,
    k: float = 1.0,
    out: Tensor | None = None,
) -> Tensor:
    """x / (k + alpha / size · Σ x²)^beta, over `size` neighboring channels, ⌊(size − 1) / 2⌋ of them before."""
    with launch.tensors(x) as (source,):
        if source.ndim < 2 or size < 1:
            raise ShapeError(f"local_response_norm: x {source.shape} over {size} channels")
        channels = source.shape[1]
        out = _prepare_output("local_response_norm", source, out)
        before = (size - 1) // 2
        wide = f64 if source.dtype is f64 else f32
        with Tensor.empty(source.shape, wide, temporary=True) as sums:
            assign(sums, 0)
            for shift in range(-before, size - before):
                low, high = max(0, -shift), min(channels, channels - shift)
                if low < high:
                    part, near = sums[:, low:high], source[:, low + shift : high + shift]
                    fused(lambda s, v: s + v.to(wide) * v.to(wide), part, near, out=part)
            return fused(lambda v, s: v / power(k + (alpha / size) * s, beta), source, sums, out=out)


# inside -------------------------------------------------------------------------------------------------------------


def _prepare_output(name: str, x: Tensor, out: Tensor | None) -> Tensor:
    if not x.dtype.is_real:
        raise DtypeError(f"{name} of {x.dtype}; cast it first with .to('f32')")
    return launch.prepare_output(name, x.shape, x.dtype, out)


def _block(name: str, x: Tensor, axes: int) -> tuple[int, ...]:
    if not 1 <= axes <= x.ndim:
        raise ShapeError(f"{name}: x {x.shape} has no {axes} last axes")
    return x.shape[x.ndim - axes :]


def _broadcast(tensor: Tensor | None, block: tuple[int, ...]) -> Tensor | None:
    if tensor is None or tensor.shape == block:
        return tensor
    return tensor.expand(*block)  # raises if it does not broadcast


def _rows(
    name: str,
    x: Tensor,
    count: int,
    scale: Tensor | None,
    shift: Tensor | None,
    epsilon: float,
    out: Tensor | None,
    *,
    centered: bool = True,
    period: int = 1,
    row_step: int = 0,
    run: int = 1,
    statistics: list[Tensor | None] | None = None,
) -> Tensor:
    """Normalize rows of `count` elements; element i of row r takes scale and shift r % period · row_step + i // run."""
    out = _prepare_output(name, x, out)
    if not x.size:
        return out
    if x.dtype is f64:
        return _rows_of_doubles(x, count, scale, shift, epsilon, out, centered, period, row_step, run, statistics)
    packed = out if out.is_contiguous else Tensor.empty(out.shape, out.dtype, temporary=True)
    mean, inverse = statistics or (None, None)
    tensors = {"mean": mean, "inverse": inverse, "scale": scale, "shift": shift, "x": x}
    ready = {key: None if t is None else launch.copy_if_aliased(t, packed).contiguous() for key, t in tensors.items()}
    rows, lanes = x.size // count, _lanes(count)
    kernel = Kernel.load(
        "ops/normalize.wgsl",
        defines={
            "X": x.dtype.name,
            "SCALE": "" if scale is None else scale.dtype.name,
            "SHIFT": "" if shift is None else shift.dtype.name,
            "OUT": out.dtype.name,
            "CENTERED": centered,
            "STATISTICS": mean is not None,
            **_shares(count, lanes),
        },
    )
    kernel(
        -(-rows // (WORKGROUP // lanes)) * WORKGROUP,
        overwrites=("out", "mean", "inverse"),
        out=packed,
        rows=rows,
        count=count,
        period=period,
        row_step=row_step,
        run=run,
        epsilon=epsilon,
        **ready,
    )
    return out if packed is out else assign(out, packed)


def _rows_of_doubles(
    x: Tensor,
    count: int,
    scale: Tensor | None,
    shift: Tensor | None,
    epsilon: float,
    out: Tensor,
    centered: bool,
    period: int,
    row_step: int,
    run: int,
    statistics: list[Tensor | None] | None,
) -> Tensor:
    """As the kernel has it, put together from reductions and elementwise operations, which know f64."""
    rows, wide = x.contiguous().reshape(-1, period, count // run, run), (period if row_step else 1, count // run, 1)
    factor = 1 if scale is None else scale.contiguous().reshape(*wide)
    term = 0 if shift is None else shift.contiguous().reshape(*wide)
    middle: Any = mean(rows, (2, 3), True) if centered else 0
    with (
        fused(lambda v, m: v - m, rows, middle) as moved,
        square(moved) as squares,
        mean(squares, (2, 3), True) as variance,
    ):
        result = fused(lambda v, n, s, t: v / sqrt(n + epsilon) * s + t, moved, variance, factor, term)
        for found, stored in zip((middle, 1 / sqrt(variance + epsilon)), statistics or (), strict=False):
            if stored is not None:
                with narrowing():  # they are f32, whatever x is
                    assign(stored, found.reshape(*stored.shape))
    return assign(out, result.reshape(*x.shape))


def _lanes(count: int) -> int:
    lanes = 8
    while lanes < WORKGROUP and lanes * (4 if lanes < 64 else CACHED) < count:
        lanes *= 2
    return lanes


def _shares(count: int, lanes: int) -> dict[str, int]:
    """How rows share a workgroup. EACH, the elements that an invocation keeps of one, is 0 if there are too many."""
    each = -(-count // lanes)
    cached = 1 << (each - 1).bit_length() if each <= CACHED else 0
    return {"LANES": lanes, "ROWS": WORKGROUP // lanes, "EACH": cached}
