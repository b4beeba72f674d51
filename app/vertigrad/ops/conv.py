"""Convolution over one to three spatial axes, and its transpose, with what follows folded in.

x has the shape (N, C, ...spatial), and so has the result. Windows are not flipped (cross-correlation, as in ONNX and
PyTorch). f32 and f16 are summed in f32; i32, u32 and u8 give i32 or u32, which wrap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

from ..errors import DtypeError, ShapeError
from ..tensor import DType, Tensor, i32, promote, u32
from . import launch
from .activation import Activation
from .conv_tiles import Operands, run
from .define import Operand
from .differentiable import differentiable
from .window import Padding, Sizes, Window, per_axis


@differentiable
def conv(
    x: Operand,
    weights: Operand,
    bias: Operand | None = None,
    *,
    stride: Sizes = 1,
    padding: Padding = 0,
    dilation: Sizes = 1,
    groups: int = 1,
    activation: Activation = None,
    residual: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """activation(x ∗ weights + bias + residual), one kernel.

    `weights` have the shape (out channels, C / groups, ...window), `bias` (out channels,), the residual that of the
    result. `padding` is a number, one or a pair (begin, end) for each axis, "valid", "same_upper" or "same_lower"; for
    `activation` see `activation.py`. The kernel is fastest with weights from `pack_conv_weights`. On GPUs
    windows of 3 x 3 over 32 channels or more take fewer multiplications (see `conv_patches.py`). Raises `ShapeError`
    and `DtypeError`.
    """
    with launch.tensors(x, weights, bias) as (source, kernel, shift):
        spatial = source.shape[2:]
        if kernel.ndim != source.ndim or source.ndim < 3:
            raise ShapeError(
                f"conv: x {source.shape} and weights {kernel.shape} must both be (n, channels, ...spatial)"
            )
        _check_channels("conv", source.shape[1], kernel.shape[1] * groups, kernel.shape[0], groups)
        window = Window.of("conv", spatial, kernel.shape[2:], stride, padding, dilation)
        shape = (source.shape[0], kernel.shape[0], *window.output_shape(spatial))
        out = launch.prepare_output("conv", shape, _result("conv", source, kernel), out)
        operands = _operands("conv", source, kernel, shift, residual, out, groups, activation)
        if out.size:
            run(operands, window.size, window.stride, window.dilation, tuple(-begin for begin in window.begin))
    return out


@differentiable
def conv_transpose(
    x: Operand,
    weights: Operand,
    bias: Operand | None = None,
    *,
    stride: Sizes = 1,
    padding: Padding = 0,
    output_padding: Sizes = 0,
    output_shape: Sequence[int] | None = None,
    dilation: Sizes = 1,
    groups: int = 1,
    activation: Activation = None,
    residual: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The transpose of `conv` with the same weights, then activation(... + bias + residual).

    `weights` have the shape (C, out channels / groups, ...window). Along an axis the result has stride · (size − 1) +
    output_padding + (window − 1) · dilation + 1 − padding elements. With `output_shape` (its spatial axes) the padding
    is computed instead, the odd one at the end unless `padding` is "same_lower"; padding by name alone means a result
    of size · stride. Results are computed by stride residue, each an ordinary convolution: zeros are never multiplied.
    Raises `ShapeError` and `DtypeError`.
    """
    with launch.tensors(x, weights, bias) as (source, kernel, shift):
        rank, spatial = source.ndim - 2, source.shape[2:]
        if kernel.ndim != source.ndim or rank < 1:
            raise ShapeError(f"conv_transpose: x {source.shape} and weights {kernel.shape} must have the same axes")
        channels = kernel.shape[1] * groups
        _check_channels("conv_transpose", source.shape[1], kernel.shape[0], channels, groups)
        window, full = transposed_window(
            spatial, kernel.shape[2:], stride, padding, output_padding, output_shape, dilation
        )
        sizes = [n - b - e for n, b, e in zip(full, window.begin, window.end, strict=True)]
        if min(sizes) < 0:
            raise ShapeError(f"conv_transpose: padding {padding} leaves nothing of x {source.shape}")
        shape = (source.shape[0], channels, *sizes)
        out = launch.prepare_output("conv_transpose", shape, _result("conv_transpose", source, kernel), out)
        operands = _operands("conv_transpose", source, kernel, shift, residual, out, groups, activation)
        for residues in product(*(range(min(s, n)) for s, n in zip(window.stride, sizes, strict=True))):
            if out.size:
                _run_residue(operands, window, residues)
    return out


def transposed_window(
    spatial: Sequence[int],
    size: Sequence[int],
    stride: Sizes,
    padding: Padding,
    output_padding: Sizes,
    output_shape: Sequence[int] | None,
    dilation: Sizes,
) -> tuple[Window, list[int]]:
    """For `conv_transpose` and its gradient: the window, and the result's sizes before its padding is cut off."""
    rank = len(spatial)
    named = padding if isinstance(padding, str) else "same_upper"
    numeric = 0 if isinstance(padding, str) else padding
    window = Window.of("conv_transpose", spatial, size, stride, numeric, dilation)
    more = per_axis("conv_transpose", "output_padding", output_padding, rank, 0)
    full = [(n - 1) * s + e + p for n, s, e, p in zip(spatial, window.stride, window.extent, more, strict=True)]
    if output_shape is None and isinstance(padding, str) and padding != "valid":
        output_shape = [n * s for n, s in zip(spatial, window.stride, strict=True)]
    if output_shape is not None:
        requested = per_axis("conv_transpose", "output_shape", output_shape, rank)
        window = _cropped(window, full, requested, named == "same_lower")
    return window, full


def pack_conv_weights(weights: Tensor) -> Tensor:
    """A copy that is equal to `weights` but is stored output channel by output channel, as `conv` reads it fastest."""
    axes = (*range(1, weights.ndim), 0)
    return weights.permute(*axes).contiguous().permute(weights.ndim - 1, *range(weights.ndim - 1))


# inside -------------------------------------------------------------------------------------------------------------


def _operands(
    name: str,
    x: Tensor,
    weights: Tensor,
    bias: Tensor | None,
    residual: Tensor | None,
    out: Tensor,
    groups: int,
    activation: Activation,
) -> Operands:
    if bias is not None and bias.shape != (out.shape[1],):
        raise ShapeError(f"{name}: bias of shape {bias.shape} for {out.shape[1]} output channels")
    if residual is not None and residual.shape != out.shape:
        raise ShapeError(f"{name}: residual of shape {residual.shape} for a result of shape {out.shape}")
    for what, tensor in (("bias", bias), ("residual", residual)):
        if tensor is not None and tensor.dtype.kind != out.dtype.kind:
            raise DtypeError(f"{name}: {what} is {tensor.dtype}, the result {out.dtype}")
    if activation is not None and out.dtype.kind != "float":
        raise DtypeError(f"{name}: activation {activation!r} of a result of {out.dtype}")
    x, weights = (launch.copy_if_aliased(t, out) for t in (x, weights))
    bias, residual = (launch.copy_if_aliased(t, out) for t in (bias, residual))
    transposed = name == "conv_transpose"
    kernel = launch.split_axis(weights, 0, groups)
    if transposed:
        kernel = kernel.permute(0, 2, 1, *range(3, kernel.ndim))
    return Operands(
        launch.split_axis(x, 1, groups),
        kernel,
        None if bias is None else launch.split_axis(bias, 0, groups),
        None if residual is None else launch.split_axis(residual, 1, groups),
        launch.split_axis(out, 1, groups),
        activation,
    )


def _check_channels(name: str, channels: int, expected: int, results: int, groups: int) -> None:
    if groups < 1 or channels != expected or channels % groups or results % groups:
        raise ShapeError(
            f"{name}: x has {channels} channels, the weights are for {expected}; "
            f"{results} output channels in {groups} groups"
        )


def _result(name: str, x: Tensor, weights: Tensor) -> DType:
    dtype = promote(x.dtype, weights.dtype)
    if dtype.is_real:
        return dtype
    if dtype.kind == "bool":
        raise DtypeError(f"{name} of bools; cast them first with .to()")
    return i32 if dtype is i32 else u32


def _cropped(window: Window, full: Sequence[int], requested: Sequence[int], lower: bool) -> Window:
    """With the padding that leaves `requested` of `full` elements; negative if that is more."""
    totals = [n - m for n, m in zip(full, requested, strict=True)]
    less, more = tuple(t // 2 for t in totals), tuple(t - t // 2 for t in totals)
    return window._replace(begin=more, end=less) if lower else window._replace(begin=less, end=more)


def _run_residue(operands: Operands, window: Window, residues: Sequence[int]) -> None:
    """The results at positions that have these remainders by the strides, as a convolution of stride 1.

    out[o] is the sum over taps k of x[(o + begin − k · dilation) / stride] where that is whole. With o = r + stride · q
    and k = first + j · leap this is x[q + origin − j · spread].
    """
    firsts, leaps, origins, spreads = [], [], [], []
    for r, n, stride, spread, begin in zip(
        residues, window.size, window.stride, window.dilation, window.begin, strict=True
    ):
        first = next((k for k in range(n) if (r + begin - k * spread) % stride == 0), n)
        leap = stride // math.gcd(stride, spread)
        firsts.append(first)
        leaps.append(leap)
        origins.append((r + begin - first * spread) // stride)
        spreads.append(-(leap * spread) // stride)
    offsets_by_axis = tuple(slice(r, None, s) for r, s in zip(residues, window.stride, strict=True))
    taps = tuple(slice(first, None, leap) for first, leap in zip(firsts, leaps, strict=True))
    size = [len(range(first, n, leap)) for first, n, leap in zip(firsts, window.size, leaps, strict=True)]
    part = operands._replace(
        out=operands.out[(..., *offsets_by_axis)],
        residual=None if operands.residual is None else operands.residual[(..., *offsets_by_axis)],
        weights=operands.weights[(..., *taps)] if min(size) else operands.weights,
    )
    run(part, size, (1,) * len(size), spreads, origins)
