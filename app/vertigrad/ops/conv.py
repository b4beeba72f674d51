"""Convolution over one to three spatial axes, and its transpose, with what follows folded in.

x has the shape (N, C, ...spatial), and so has the result. Windows are not flipped (cross-correlation, as in ONNX and
PyTorch). f32 and f16 are summed in f32; i32, u32 and u8 give i32 or u32, which wrap.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any, NamedTuple

from ..errors import DtypeError, ShapeError
from ..gpu import Kernel
from ..tensor import DType, Tensor, f32, i32, promote, u32
from . import launch
from .activation import Activation, expression
from .define import Operand
from .elementwise import evaluate
from .expression import Expression
from .window import Padding, Sizes, Window, per_axis

BUSY = 264  # workgroups that keep a large GPU busy: fewer, and the inner axis is sliced
MOST_SLICES = 6  # partial results that one kernel adds up
STEP = 16
UNROLL = 16


class Tile(NamedTuple):
    """Results that a workgroup makes (channels x places), and one of its invocations."""

    rows: int
    columns: int
    each_row: int
    each_column: int


TILES = (
    Tile(128, 128, 8, 8),
    Tile(64, 256, 8, 8),
    Tile(64, 128, 8, 8),
    Tile(64, 64, 4, 4),
    Tile(32, 128, 4, 4),
    Tile(16, 128, 4, 4),
)
FEW = 4  # channels of a group up to which one invocation makes a result alone


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
    `activation` see `activation.py`. The kernel is fastest with weights from `pack_conv_weights`. Raises `ShapeError`
    and `DtypeError`.
    """
    with launch.tensors(x, weights, *([] if bias is None else [bias])) as (source, kernel, *added):
        spatial = source.shape[2:]
        if kernel.ndim != source.ndim or source.ndim < 3:
            raise ShapeError(
                f"conv: x {source.shape} and weights {kernel.shape} must both be (n, channels, ...spatial)"
            )
        _check_channels("conv", source.shape[1], kernel.shape[1] * groups, kernel.shape[0], groups)
        window = Window.of("conv", spatial, kernel.shape[2:], stride, padding, dilation)
        shape = (source.shape[0], kernel.shape[0], *window.results(spatial))
        out = launch.destination("conv", shape, _result("conv", source, kernel), out)
        with _operands("conv", source, kernel, added, residual, out, groups, activation) as operands:
            if out.size:
                origin = tuple(-begin for begin in window.begin)
                _run(operands, window.size, window.stride, window.dilation, origin)
    return out


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
    is worked out instead, the odd one at the end unless `padding` is "same_lower"; padding by name alone means a result
    of size · stride. Results are made by stride residue, each an ordinary convolution: zeros are never multiplied.
    Raises `ShapeError` and `DtypeError`.
    """
    with launch.tensors(x, weights, *([] if bias is None else [bias])) as (source, kernel, *added):
        rank, spatial = source.ndim - 2, source.shape[2:]
        if kernel.ndim != source.ndim or rank < 1:
            raise ShapeError(f"conv_transpose: x {source.shape} and weights {kernel.shape} must have the same axes")
        channels = kernel.shape[1] * groups
        _check_channels("conv_transpose", source.shape[1], kernel.shape[0], channels, groups)
        named = padding if isinstance(padding, str) else "same_upper"
        given = 0 if isinstance(padding, str) else padding
        window = Window.of("conv_transpose", spatial, kernel.shape[2:], stride, given, dilation)
        more = per_axis("conv_transpose", "output_padding", output_padding, rank, 0)
        full = [(n - 1) * s + e + p for n, s, e, p in zip(spatial, window.stride, window.extent, more, strict=True)]
        if output_shape is None and isinstance(padding, str) and padding != "valid":
            output_shape = [n * s for n, s in zip(spatial, window.stride, strict=True)]
        if output_shape is not None:
            wanted = per_axis("conv_transpose", "output_shape", output_shape, rank)
            window = _cropped(window, full, wanted, named == "same_lower")
        sizes = [n - b - e for n, b, e in zip(full, window.begin, window.end, strict=True)]
        if min(sizes) < 0:
            raise ShapeError(f"conv_transpose: padding {padding} leaves nothing of x {source.shape}")
        shape = (source.shape[0], channels, *sizes)
        out = launch.destination("conv_transpose", shape, _result("conv_transpose", source, kernel), out)
        with _operands("conv_transpose", source, kernel, added, residual, out, groups, activation) as operands:
            for residues in product(*(range(min(s, n)) for s, n in zip(window.stride, sizes, strict=True))):
                if out.size:
                    _run_residue(operands, window, residues)
    return out


def pack_conv_weights(weights: Tensor) -> Tensor:
    """A copy that is equal to `weights` but lies output channel by output channel, as `conv` reads it fastest."""
    axes = (*range(1, weights.ndim), 0)
    return weights.permute(*axes).contiguous().permute(weights.ndim - 1, *range(weights.ndim - 1))


# inside -------------------------------------------------------------------------------------------------------------


class _Operands(NamedTuple):
    """The tensors of one call. Weights as (groups, out, in, ...window), the others as (N, groups, channels, ...)."""

    x: Tensor
    weights: Tensor
    bias: Tensor | None
    residual: Tensor | None
    out: Tensor
    activation: Activation


@contextmanager
def _operands(
    name: str,
    x: Tensor,
    weights: Tensor,
    added: Sequence[Tensor],
    residual: Tensor | None,
    out: Tensor,
    groups: int,
    activation: Activation,
) -> Iterator[_Operands]:
    bias = added[0] if added else None
    if bias is not None and bias.shape != (out.shape[1],):
        raise ShapeError(f"{name}: bias of shape {bias.shape} for {out.shape[1]} output channels")
    if residual is not None and residual.shape != out.shape:
        raise ShapeError(f"{name}: residual of shape {residual.shape} for a result of shape {out.shape}")
    for what, tensor in (("bias", bias), ("residual", residual)):
        if tensor is not None and tensor.dtype.kind != out.dtype.kind:
            raise DtypeError(f"{name}: {what} is {tensor.dtype}, the result {out.dtype}")
    if activation is not None and out.dtype.kind != "float":
        raise DtypeError(f"{name}: activation {activation!r} of a result of {out.dtype}")
    ready = [None if t is None else launch.apart(t, out) for t in (x, weights, bias, residual)]
    x, weights, bias, residual = ready  # type: ignore[assignment]  None stays None
    transposed = name == "conv_transpose"
    kernel = launch.split_axis(weights, 0, groups)
    if transposed:
        kernel = kernel.permute(0, 2, 1, *range(3, kernel.ndim))
    yield _Operands(
        launch.split_axis(x, 1, groups),
        kernel,
        None if bias is None else launch.split_axis(bias, 0, groups),
        None if residual is None else launch.split_axis(residual, 1, groups),
        launch.split_axis(out, 1, groups),
        activation,
    )


def _check_channels(name: str, given: int, wanted: int, results: int, groups: int) -> None:
    if groups < 1 or given != wanted or given % groups or results % groups:
        raise ShapeError(
            f"{name}: x has {given} channels, the weights are for {wanted}, and there are {results} output channels in "
            f"{groups} groups"
        )


def _result(name: str, x: Tensor, weights: Tensor) -> DType:
    dtype = promote(x.dtype, weights.dtype)
    if dtype.kind == "float":
        return dtype
    if dtype.kind == "bool":
        raise DtypeError(f"{name} of bools; cast them first with .to()")
    return i32 if dtype is i32 else u32


def _cropped(window: Window, full: Sequence[int], wanted: Sequence[int], lower: bool) -> Window:
    """With the padding that leaves `wanted` of `full` elements; negative if more are wanted."""
    totals = [n - m for n, m in zip(full, wanted, strict=True)]
    less, more = tuple(t // 2 for t in totals), tuple(t - t // 2 for t in totals)
    return window._replace(begin=more, end=less) if lower else window._replace(begin=less, end=more)


def _run_residue(operands: _Operands, window: Window, residues: Sequence[int]) -> None:
    """The results at places that have these remainders by the strides, as a convolution of stride 1.

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
    places = tuple(slice(r, None, s) for r, s in zip(residues, window.stride, strict=True))
    taps = tuple(slice(first, None, leap) for first, leap in zip(firsts, leaps, strict=True))
    size = [len(range(first, n, leap)) for first, n, leap in zip(firsts, window.size, leaps, strict=True)]
    part = operands._replace(
        out=operands.out[(..., *places)],
        residual=None if operands.residual is None else operands.residual[(..., *places)],
        weights=operands.weights[(..., *taps)] if min(size) else operands.weights,
    )
    _run(part, size, (1,) * len(size), spreads, origins)


def _run(
    operands: _Operands, size: Sequence[int], stride: Sequence[int], spread: Sequence[int], origin: Sequence[int]
) -> None:
    x, weights, bias, residual, out, activation = operands
    groups, results, channels = weights.shape[:3]
    places = math.prod(out.shape[3:])
    inner = channels * math.prod(size)
    value = "f32" if out.dtype.kind == "float" else out.dtype.name
    common: dict[str, Any] = {
        "x": x,
        "w": weights,
        "channels": channels,
        "results": results,
        "places": places,
        "all_places": out.shape[0] * places,
        "groups": groups,
        "size": _three(x.shape[3:], 1),
        "window": _three(size, 1),
        "outs": _three(out.shape[3:], 1),
        "step": _three(stride, 1),
        "spread": _three(spread, 1),
        "origin": _three(origin, 0),
        "x_strides": _eight(x),
        "w_strides": _eight(weights),
    }
    defines = {"X": x.dtype.name, "W": weights.dtype.name, "VALUE": value}
    if value != "f32" or results <= FEW or not inner:
        threads = out.size
        kernel = Kernel.load("ops/conv_direct.wgsl", defines=defines | _added(bias, residual, activation, out))
        ends = _ends(bias, residual, out)
        kernel(threads, overwrites=("out",), slices=1, slice_steps=0, slice_stride=0, **common, **ends)
        return
    tile = _tile(results, common["all_places"], groups)
    tiles = -(-results // tile.rows) * -(-common["all_places"] // tile.columns) * groups
    steps = -(-inner // STEP)
    slice_steps = -(-steps // min(MOST_SLICES, max(1, BUSY // tiles), max(1, steps // 8)))
    slices = -(-steps // slice_steps)
    strides = launch.element_strides(weights)
    defines |= {
        **{"ROWS": tile.rows, "COLUMNS": tile.columns, "EACH_ROW": tile.each_row, "EACH_COLUMN": tile.each_column},
        **{"STEP": STEP, "UNROLL": UNROLL, "WHOLE": channels % STEP == 0, "W_DOWN": abs(strides[1]) < abs(strides[2])},
    }
    threads = tiles * slices * (tile.rows // tile.each_row) * (tile.columns // tile.each_column)
    common |= {"slices": slices, "slice_steps": slice_steps}
    if slices == 1:
        kernel = Kernel.load("ops/conv.wgsl", defines=defines | _added(bias, residual, activation, out))
        kernel(threads, overwrites=("out",), slice_stride=0, **common, **_ends(bias, residual, out))
        return
    with Tensor.empty((slices, *out.shape), f32, temporary=True) as partial:
        kernel = Kernel.load("ops/conv.wgsl", defines=defines | _added(None, None, None, partial))
        ends = _ends(None, None, partial[0]) | {"out": partial}
        kernel(threads, overwrites=("out",), slice_stride=out.size, **common, **ends)
        _finish(list(partial), operands)


def _tile(results: int, places: int, groups: int) -> Tile:
    """The largest tile that is filled and leaves enough of them to keep the GPU busy; else the one with least waste."""
    fitting = [tile for tile in TILES if tile.rows < 2 * results] or [TILES[-1]]
    for tile in fitting:
        if -(-results // tile.rows) * -(-places // tile.columns) * groups >= 0.75 * BUSY:
            return tile
    return min(fitting, key=lambda tile: (-(-results // tile.rows) * tile.rows, tile.rows * tile.columns))


def _finish(parts: Sequence[Tensor], operands: _Operands) -> None:
    """Add the partial results, then what follows."""
    total = Expression.of(parts[0])
    for part in parts[1:]:
        total = total + part
    if operands.bias is not None:
        total = total + operands.bias[(..., *[None] * (operands.out.ndim - 3))]
    if operands.residual is not None:
        total = total + operands.residual
    text = expression(operands.activation).replace("(x", "(a_") if operands.activation else "a_"
    evaluate(Expression("activation", (total,), text, f32, operands.out.dtype), operands.out)  # type: ignore[list-item]


def _added(bias: Tensor | None, residual: Tensor | None, activation: Activation, out: Tensor) -> dict[str, Any]:
    return {
        "BIAS": "" if bias is None else bias.dtype.name,
        "RESIDUAL": "" if residual is None else residual.dtype.name,
        "ACTIVATION": expression(activation),
        "OUT": out.dtype.name,
    }


def _ends(bias: Tensor | None, residual: Tensor | None, out: Tensor) -> dict[str, Any]:
    """The arguments for what a kernel writes and what it adds; a field of what is not there is 0."""
    arguments: dict[str, Any] = {"out": out, "out_strides": _eight(out), "bias_strides": (0, 0), "bias_offset": 0}
    arguments |= {"residual_strides": [0] * 8, "residual_offset": 0}
    if bias is not None:
        arguments |= {"bias": bias, "bias_strides": launch.element_strides(bias)}
    if residual is not None:
        arguments |= {"residual": residual, "residual_strides": _eight(residual)}
    return arguments


def _three(values: Sequence[int], fill: int) -> list[int]:
    return [*[fill] * (3 - len(values)), *values]


def _eight(tensor: Tensor) -> list[int]:
    """Strides in elements: three, a gap, and three for the spatial axes."""
    strides = launch.element_strides(tensor)
    return [*strides[:3], 0, *_three(strides[3:], 0), 0]
