"""Grid sampling of images and volumes, and affine grids."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import DtypeError, ShapeError
from ..gpu import Kernel
from ..tensor import Tensor, f32, f64
from ..tensor.doubles import on_gpu
from . import launch
from .define import Operand
from .differentiable import differentiable
from .matmul import matmul

MODES = ("nearest", "linear", "cubic")
PADDING = ("zeros", "border", "reflection")


@differentiable
def grid_sample(
    x: Operand,
    grid: Operand,
    *,
    mode: str = "linear",
    padding: str = "zeros",
    align_corners: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """x (N, C, ...spatial), one to three axes, at the coordinates of `grid` (N, ...samples, axes): (N, C, ...samples).

    Coordinates go from −1 to 1 and name the last spatial axis first; with `align_corners` the ends are the centers of
    the outermost elements, else their outer borders. `mode` is "nearest" (half goes to the even one), "linear" or
    "cubic" (a = −0.75); `padding` says what is outside. f32, f16 and f64. Raises `ShapeError`, `DtypeError`.
    """
    with launch.tensors(x, grid) as (source, locations):
        rank = source.ndim - 2
        ends = locations.shape[:1] + locations.shape[-1:]
        if not 1 <= rank <= 3 or locations.ndim != source.ndim or ends != (source.shape[0], rank):
            raise ShapeError(f"grid_sample: a grid {locations.shape} does not fit x {source.shape}")
        if mode not in MODES or padding not in PADDING:
            raise ShapeError(f"grid_sample: mode {mode!r} of {MODES}, padding {padding!r} of {PADDING}")
        if not source.dtype.is_real or locations.dtype.kind not in ("float", source.dtype.kind):
            raise DtypeError(
                f"grid_sample of {source.dtype} with a grid of {locations.dtype}; cast them first to floats"
            )
        shape = (*source.shape[:2], *locations.shape[1:-1])
        out = launch.prepare_output("grid_sample", shape, source.dtype, out)
        if out.size and not source.size:
            raise ShapeError(f"grid_sample: x {source.shape} has no elements")
        if out.size:
            source, locations = (launch.copy_if_aliased(tensor, out) for tensor in (source, locations))
            _launch(source, locations, out, mode, padding, align_corners)
    return out


@differentiable
def affine_grid(
    theta: Operand, size: Sequence[int], *, align_corners: bool = False, out: Tensor | None = None
) -> Tensor:
    """The grid for `grid_sample` of theta · (coordinates, 1), f32 (or f64, as theta) (N, ...size, axes).

    `theta` is (N, axes, axes + 1), with one to three axes; `size` gives the spatial ones. Raises `ShapeError`.
    """
    with launch.tensors(theta) as (maps,):
        rank = check_theta(maps, size)
        out = launch.prepare_output("affine_grid", (maps.shape[0], *size, rank), maps.dtype, out)
        if out.size:
            places = centers(size, align_corners).astype(maps.dtype.numpy)
            with on_gpu(places) as flat, launch.packed(out) as target:
                matmul(flat, maps.permute(0, 2, 1), out=target.reshape(maps.shape[0], len(places), rank))
    return out


def check_theta(theta: Tensor, size: Sequence[int]) -> int:
    """The number of axes. Raises `ShapeError`, `DtypeError`."""
    rank = len(size)
    if not 1 <= rank <= 3 or theta.shape[1:] != (rank, rank + 1):
        raise ShapeError(f"affine_grid: theta {theta.shape} for a grid of {tuple(size)}")
    if theta.dtype not in (f32, f64):
        raise DtypeError(f"affine_grid: theta of {theta.dtype}; cast it first with .to('f32')")
    return rank


def centers(size: Sequence[int], align_corners: bool) -> np.ndarray:
    """The coordinates of all elements between −1 and 1, last axis first, and a 1: (elements, axes + 1)."""
    lines = [_centers(n, align_corners) for n in size]
    mesh = np.stack([*np.meshgrid(*lines, indexing="ij")[::-1], np.ones(tuple(size))], -1)
    return mesh.reshape(-1, len(size) + 1)


def _centers(n: int, align_corners: bool) -> np.ndarray:
    if align_corners:
        return np.linspace(-1, 1, n) if n > 1 else np.zeros(n)
    return (2 * np.arange(n) + 1) / n - 1


def _launch(x: Tensor, grid: Tensor, out: Tensor, mode: str, padding: str, align_corners: bool) -> None:
    kernel = Kernel.load(
        "ops/sample.wgsl",
        defines={
            **{"X": x.dtype.name, "GRID": grid.dtype.name, "OUT": out.dtype.name, "RANK": x.ndim - 2},
            **{"MODE": mode, "PADDING": padding, "CORNERS": align_corners},
        },
    )
    kernel(
        out.size,
        overwrites=("out",),
        grid=grid,
        count=out.size,
        channels=x.shape[1],
        size=launch.three(x.shape[2:], 1),
        outs=launch.three(out.shape[2:], 1),
        grid_strides=launch.spatial_strides(grid, (0, grid.ndim - 1)),
        **launch.strided(launch.spatial_strides, x=x, out=out),
    )
