"""How a convolution is divided into tiles, and its kernels are called; `conv.py` says what is convolved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..gpu import Kernel, gpu
from ..tensor import Tensor, f32, f64
from . import conv_patches, launch, paths
from .activation import Activation, expression, parameters
from .conv_patches import Patches

BUSY = 264  # workgroups that keep a large GPU busy
MOST_ALONE = 1 << 14  # products of a result that one invocation adds up on a software adapter: llvmpipe ends all loops
# of an invocation after 65,535 iterations together, and a product may take one of each of four loops
ENOUGH = 64  # workgroups of split tiles up to which slices of the inner axis are computed side by side
MOST_SLICES = 12
LEAST_STEPS = 3  # of a slice: a step costs half a microsecond, adding the slices up five
STEP = 16
UNROLL = 16


class Tile(NamedTuple):
    """Results that a workgroup makes (channels x positions), and one of its invocations.

    `split` parts of a workgroup take steps of the inner axis in turn, and add up their sums at the end.
    """

    rows: int
    columns: int
    each_row: int
    each_column: int
    split: int = 1

    @property
    def threads(self) -> int:
        """Invocations of a workgroup."""
        return self.split * (self.rows // self.each_row) * (self.columns // self.each_column)

    @property
    def nbytes(self) -> int:
        """Bytes of workgroup memory for the operands, with padding."""
        return 4 * self.split * STEP * (self.rows + 4 + self.columns)


TILES = (
    Tile(128, 128, 8, 8),
    Tile(64, 256, 8, 8),
    Tile(64, 128, 8, 8),
    Tile(64, 64, 4, 4),
    Tile(32, 128, 4, 4),
    Tile(16, 128, 4, 4),
)
SPLIT = Tile(32, 32, 4, 4, 4)  # where large tiles are too few; on an H100 twice as fast as one of them
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
    is_long = paths.is_software() and inner > MOST_ALONE
    if out.dtype is f64 and is_long and channels > 1:
        _run_halves(operands, size, stride, spread, origin)
    elif out.dtype.kind != "float" or (results <= FEW and not is_long) or not inner:
        kernel = Kernel.load("ops/conv_direct.wgsl", defines=_defines(operands))
        kernel(out.size, overwrites=("out",), slices=1, slice_steps=0, slice_stride=0, **arguments)
    elif (cut := _in_patches(operands, size, stride, spread)) is not None:
        _run_patches(operands, spread, origin, cut, arguments)
    else:
        _run_tiles(operands, inner, arguments)


def _run_halves(operands: Operands, *window: Sequence[int]) -> None:
    """Two convolutions, each over half of the channels; the first one's result is added by the second."""
    half = operands.x.shape[2] // 2
    first, second = (
        operands._replace(x=operands.x[:, :, part], weights=operands.weights[:, :, part])
        for part in (slice(None, half), slice(half, None))
    )
    with Tensor.empty(operands.out.shape, operands.out.dtype, temporary=True) as sums:
        run(first._replace(out=sums, activation=None), *window)
        run(second._replace(bias=None, residual=sums), *window)


def _in_patches(
    operands: Operands, size: Sequence[int], stride: Sequence[int], spread: Sequence[int]
) -> tuple[Patches, int] | None:
    """The patches and slices that the convolution is divided into, if it can be by fewer multiplications, and soon."""
    groups, results, channels = operands.weights.shape[:3]
    suits = tuple(size) == (3, 3) and tuple(stride) == (1, 1) and tuple(spread) in ((1, 1), (-1, -1))
    if not suits or paths.is_software():
        return None
    limits = gpu().limits
    room, most = limits["max-compute-workgroup-storage-size"], limits["max-compute-invocations-per-workgroup"]
    return conv_patches.choose(results, patches_of(operands.out), channels, groups, room, most)


def patches_of(out: Tensor) -> int:
    """How many patches of 2 x 2 results each channel of `out`, as in `Operands`, has."""
    return out.shape[0] * -(-out.shape[3] // 2) * -(-out.shape[4] // 2)


def _run_patches(
    operands: Operands,
    spread: Sequence[int],
    origin: Sequence[int],
    cut: tuple[Patches, int],
    arguments: dict[str, Any],
) -> None:
    """By products of transformed patches and windows; each in slices of the channels where there are few."""
    patches, slices = cut
    groups, results, channels = operands.weights.shape[:3]
    if spread[0] < 0:  # the same with the window turned by half a turn
        operands = operands._replace(weights=operands.weights[..., ::-1, ::-1])
        arguments |= launch.strided(_strides, w=operands.weights)
        arguments |= {"origin": launch.three([at - 2 for at in origin], 0), "spread": launch.three((1, 1), 1)}
    tiles = -(-results // patches.rows) * -(-patches_of(operands.out) // patches.columns) * groups
    steps = -(-channels // conv_patches.CHANNELS)
    slice_steps = -(-steps // slices)
    slices = -(-steps // slice_steps)
    arguments |= {"slices": slices, "slice_steps": slice_steps}
    _run_slices("ops/conv_winograd.wgsl", operands, patches.defines(), tiles * slices * patches.threads, arguments)


def _run_tiles(operands: Operands, inner: int, arguments: dict[str, Any]) -> None:
    """In tiles; where these are few, each in slices of the inner axis, which are added up by a second kernel."""
    weights = operands.weights
    groups, results, channels = weights.shape[:3]
    storage = gpu().limits["max-compute-workgroup-storage-size"]
    tile = choose(results, arguments["all_positions"], groups, paths.is_software(), storage)
    tiles = -(-results // tile.rows) * -(-arguments["all_positions"] // tile.columns) * groups
    steps = -(-inner // (STEP * tile.split))
    slice_steps = -(-steps // _slices(tile, tiles, steps))
    slices = -(-steps // slice_steps)
    strides = launch.element_strides(weights)
    defines = {
        **{"ROWS": tile.rows, "COLUMNS": tile.columns, "EACH_ROW": tile.each_row, "EACH_COLUMN": tile.each_column},
        **{
            "STEP": STEP,
            "SPLIT": tile.split,
            "UNROLL": UNROLL,
            "WHOLE": channels % STEP == 0,
            "W_COLUMN_MAJOR": abs(strides[1]) < abs(strides[2]),
        },
    }
    threads = tiles * slices * tile.threads
    arguments |= {"slices": slices, "slice_steps": slice_steps}
    _run_slices("ops/conv.wgsl", operands, defines, threads, arguments)


def _run_slices(
    path: str, operands: Operands, defines: dict[str, Any], threads: int, arguments: dict[str, Any]
) -> None:
    """Record the kernel; several slices into memory of their own, and a second kernel that adds them up."""
    out, slices = operands.out, arguments["slices"]
    if slices == 1:
        kernel = Kernel.load(path, defines=_defines(operands) | defines)
        kernel(threads, overwrites=("out",), slice_stride=0, **arguments)
        return
    with Tensor.empty((slices, *out.shape), f32, temporary=True) as partial:
        bare = operands._replace(out=partial[0], bias=None, residual=None, activation=None)
        kernel = Kernel.load(path, defines=_defines(bare) | defines)
        sums = arguments | _ends(bare) | {"out": partial, "activation": parameters(None)}
        kernel(threads, overwrites=("out",), slice_stride=out.size, **sums)
        join = Kernel.load("ops/conv_join.wgsl", defines=_defines(operands) | {"X": "f32", "W": ""})
        added = {name: value for name, value in arguments.items() if name != "w"}
        join(out.size, overwrites=("out",), slice_stride=out.size, w_offset=0, **added | {"x": partial})


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


def _slices(tile: Tile, tiles: int, steps: int) -> int:
    """Into how many slices the inner axis of `steps` steps is to be divided."""
    if tile.split == 1 or tiles > ENOUGH:
        return 1
    return max(1, min(MOST_SLICES, round(1.5 * BUSY / tiles), steps // LEAST_STEPS))


def choose(results: int, positions: int, groups: int, is_software: bool, storage: int = 1 << 15) -> Tile:
    """The largest tile that is filled and leaves enough of them to keep the GPU busy.

    Where none does, a GPU waits for the operands of a few large tiles, so that it gets small ones that are split. A CPU
    pays for the arithmetic, so that it gets the tile with least waste, of rows and of positions. Tiles of 8 x 8 results
    an invocation take it long to compile, and pay where there are as many as keep a GPU busy. A workgroup may have
    `storage` bytes of memory.
    """
    fitting = [tile for tile in TILES if tile.rows < 2 * results and tile.nbytes <= storage] or [TILES[-1]]
    for tile in fitting:
        if is_software and tile.each_row < 8:
            break
        if -(-results // tile.rows) * -(-positions // tile.columns) * groups >= 0.75 * BUSY:
            return tile
    if not is_software:
        tiles = -(-results // SPLIT.rows) * -(-positions // SPLIT.columns) * groups
        split = SPLIT if tiles > ENOUGH and SPLIT.nbytes <= storage else SPLIT._replace(split=2)
        return split if results > SPLIT.rows // 2 else SPLIT._replace(rows=SPLIT.rows // 2)

    def padded_size(tile: Tile) -> int:
        return -(-results // tile.rows) * tile.rows * -(-positions // tile.columns) * tile.columns

    return min([ON_A_CPU, *fitting], key=padded_size)


def _strides(tensor: Tensor) -> list[int]:
    return launch.spatial_strides(tensor, first=(0, 1, 2))
