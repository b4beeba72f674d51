"""How a convolution is divided into tiles, and its kernels are called; `conv.py` says what is convolved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..gpu import Kernel, gpu
from ..tensor import Tensor, f32
from . import launch
from .activation import Activation, expression, operation, parameters
from .elementwise import evaluate
from .expression import Expression

BUSY = 264  # workgroups that keep a large GPU busy: fewer, and the inner axis is sliced
MOST_SLICES = 6  # partial results that one kernel adds up
STEP = 16
UNROLL = 16


class Tile(NamedTuple):
    """Results that a workgroup makes (channels x positions), and one of its invocations."""

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
ON_A_CPU = Tile(64, 32, 4, 4)  # wastes little of a small image, which costs a software adapter more than reading twice
FEW = 4  # channels of a group up to which one invocation makes a result alone


class Operands(NamedTuple):
    """The tensors of one call. Weights as (groups, out, in, ...window), the others as (N, groups, channels, ...)."""

    x: Tensor
    weights: Tensor
    bias: Tensor | None
    residual: Tensor | None
    out: Tensor
    activation: Activation


def run(
    operands: Operands, size: Sequence[int], stride: Sequence[int], spread: Sequence[int], origin: Sequence[int]
) -> None:
    """Record the convolution with a window of `size` taps, `spread` elements apart, the first of them at `origin`."""
    x, weights, out = operands.x, operands.weights, operands.out
    groups, results, channels = weights.shape[:3]
    positions = math.prod(out.shape[3:])
    arguments = {
        **launch.strided(_strides, x=x, w=weights),
        "channels": channels,
        "results": results,
        "positions": positions,
        "all_positions": out.shape[0] * positions,
        "groups": groups,
        "size": launch.three(x.shape[3:], 1),
        "window": launch.three(size, 1),
        "outs": launch.three(out.shape[3:], 1),
        "step": launch.three(stride, 1),
        "spread": launch.three(spread, 1),
        "origin": launch.three(origin, 0),
        "activation": parameters(operands.activation),
        **_ends(operands),
    }
    inner = channels * math.prod(size)
    if out.dtype.kind != "float" or results <= FEW or not inner:
        kernel = Kernel.load("ops/conv_direct.wgsl", defines=_defines(operands))
        kernel(out.size, overwrites=("out",), slices=1, slice_steps=0, slice_stride=0, **arguments)
    else:
        _run_tiles(operands, inner, arguments)


def _run_tiles(operands: Operands, inner: int, arguments: dict[str, Any]) -> None:
    """In tiles; where these are few, each in slices of the inner axis, which are added up by a second kernel."""
    out, weights = operands.out, operands.weights
    groups, results, channels = weights.shape[:3]
    is_software = _is_software()
    tile = choose(results, arguments["all_positions"], groups, is_software)
    tiles = -(-results // tile.rows) * -(-arguments["all_positions"] // tile.columns) * groups
    steps = -(-inner // STEP)
    most = 1 if is_software else MOST_SLICES  # a CPU is busy with a few tiles, and need not compile what adds up slices
    slice_steps = -(-steps // min(most, max(1, BUSY // tiles), max(1, steps // 8)))
    slices = -(-steps // slice_steps)
    strides = launch.element_strides(weights)
    defines = {
        **{"ROWS": tile.rows, "COLUMNS": tile.columns, "EACH_ROW": tile.each_row, "EACH_COLUMN": tile.each_column},
        **{
            "STEP": STEP,
            "UNROLL": UNROLL,
            "WHOLE": channels % STEP == 0,
            "W_COLUMN_MAJOR": abs(strides[1]) < abs(strides[2]),
        },
    }
    threads = tiles * slices * (tile.rows // tile.each_row) * (tile.columns // tile.each_column)
    arguments |= {"slices": slices, "slice_steps": slice_steps}
    if slices == 1:
        kernel = Kernel.load("ops/conv.wgsl", defines=_defines(operands) | defines)
        kernel(threads, overwrites=("out",), slice_stride=0, **arguments)
        return
    with Tensor.empty((slices, *out.shape), f32, temporary=True) as partial:
        bare = operands._replace(out=partial[0], bias=None, residual=None, activation=None)
        kernel = Kernel.load("ops/conv.wgsl", defines=_defines(bare) | defines)
        sums = arguments | _ends(bare) | {"out": partial, "activation": parameters(None)}
        kernel(threads, overwrites=("out",), slice_stride=out.size, **sums)
        _finish(list(partial), operands)


def _defines(operands: Operands) -> dict[str, Any]:
    x, weights, bias, residual, out, activation = operands
    return {
        **{"X": x.dtype.name, "W": weights.dtype.name, "OUT": out.dtype.name},
        "VALUE": launch.word_type(out.dtype),
        "BIAS": "" if bias is None else bias.dtype.name,
        "RESIDUAL": "" if residual is None else residual.dtype.name,
        "ACTIVATION": expression(activation),
    }


def _ends(operands: Operands) -> dict[str, Any]:
    """The arguments for what a kernel writes and what it adds."""
    spatial = launch.strided(_strides, out=operands.out, residual=operands.residual)
    return spatial | launch.strided(bias=operands.bias)


def _is_software() -> bool:
    return gpu().adapter.kind == "software"


def choose(results: int, positions: int, groups: int, is_software: bool) -> Tile:
    """The largest tile that is filled and leaves enough of them to keep the GPU busy; else the one with least waste.

    A GPU waits for the operands of a few large tiles, so only rows count as waste there; a CPU for the arithmetic, so
    that positions beyond the image count too. Tiles of 8 x 8 results an invocation take a CPU long to compile, and pay
    where there are as many as keep a GPU busy.
    """
    fitting = [tile for tile in TILES if tile.rows < 2 * results] or [TILES[-1]]
    for tile in fitting:
        if is_software and tile.each_row < 8:
            break
        if -(-results // tile.rows) * -(-positions // tile.columns) * groups >= 0.75 * BUSY:
            return tile

    def padded_rows(tile: Tile) -> int:
        return -(-results // tile.rows) * tile.rows

    if is_software:
        return min(
            [ON_A_CPU, *fitting], key=lambda tile: padded_rows(tile) * -(-positions // tile.columns) * tile.columns
        )
    return min(fitting, key=lambda tile: (padded_rows(tile), tile.rows * tile.columns))


def _finish(parts: Sequence[Tensor], operands: Operands) -> None:
    total = Expression.of(parts[0])
    for part in parts[1:]:
        total = total + part
    if operands.bias is not None:
        total = total + operands.bias[(..., *[None] * (operands.out.ndim - 3))]
    if operands.residual is not None:
        total = total + operands.residual
    if operands.activation is not None:
        name, values = operation(operands.activation)
        total = Expression.apply(name, (total, *values))
    evaluate(total, operands.out)  # type: ignore[arg-type]


def _strides(tensor: Tensor) -> list[int]:
    return launch.spatial_strides(tensor, first=(0, 1, 2))
