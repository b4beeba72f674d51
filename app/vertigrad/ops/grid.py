"""Normals of a surface given as a grid of points.

With P the points, east = P[r, c+1] − P[r, c−1] and south = P[r+1, c] − P[r−1, c]; at a border the point itself stands
in for the neighbor it lacks. The normal is south × east, divided by its length: y up if columns run along x and rows
along z. Where the two are parallel or zero (a grid of one row, points that coincide) it is (0, 1, 0).
"""

from __future__ import annotations

from ..errors import DtypeError, ShapeError
from ..gpu import Kernel
from ..tensor import Tensor, f32
from . import launch
from .differentiable import differentiable


@differentiable
def grid_normals(positions: Tensor, out: Tensor | None = None) -> Tensor:
    """Unit normals (rows, columns, 3) of a grid of points (rows, columns, 3), f32, into `out` or a new tensor.

    Raises `ShapeError` or `DtypeError` if either is anything else.
    """
    check_grid("positions", positions)
    out = launch.prepare_output("grid_normals", positions.shape, f32, out)
    if out.size:
        positions = launch.copy_if_aliased(positions, out)
        rows, columns, _ = positions.shape
        Kernel.load("ops/grid_normals.wgsl")(
            rows * columns,
            overwrites=("normals",),
            rows=rows,
            columns=columns,
            **launch.strided(positions=positions, normals=out),
        )
    return out


def check_grid(name: str, points: Tensor) -> None:
    """Raise `ShapeError` or `DtypeError` unless they are a grid of points."""
    if points.ndim != 3 or points.shape[2] != 3:
        raise ShapeError(f"grid_normals: {name} have shape {points.shape}; it must be (rows, columns, 3)")
    if points.dtype is not f32:
        raise DtypeError(f"grid_normals: {name} are {points.dtype}; they must be f32")
