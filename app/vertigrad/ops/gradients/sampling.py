"""Gradients of sampling: by the elements that were read, and by the grid.

Many samples may read one element. Their gradients are sorted by element and added up in that order, so that the same
input gives the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ...errors import GradientError
from ...gpu import Kernel
from ...tensor import Tensor, f32, u32
from .. import functions as f
from .. import launch
from ..concat import stack
from ..creation import zeros
from ..differentiable import Call, rule, through
from ..grid import check_grid
from ..matmul import matmul
from ..pad import pad
from ..reduce import sum as sum_
from ..sample import centers, check_theta
from ..segments import reduce_by_key
from .joining import in_order

TAPS = {"nearest": 1, "linear": 2, "cubic": 4}  # elements that a sample reads along an axis


@rule("grid_sample", "x", "grid")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    """By x: each element sums over the samples that read it. By the grid: how values change along each axis."""
    found: dict[str, Tensor] = {}
    with launch.tensors(call["x"], call["grid"]) as (x, grid):
        if "x" in call.requested:
            found["x"] = _input_gradient(gradient, x, grid, call)
        if "grid" in call.requested:
            found["grid"] = _grid_gradient(gradient, x, grid, call)
    return found


@through("affine_grid")
def _(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    check_theta(theta, size)
    with launch.operands(centers(size, align_corners).astype(np.float32)) as (samples,):
        return matmul(samples, theta.permute(0, 2, 1)).reshape(len(theta), *size, len(size))


@through("grid_normals")
def _(positions: Tensor) -> Tensor:
    """By the formula; where there is no normal, (0, 1, 0) is a constant."""
    check_grid("positions", positions)
    horizontal = pad(positions, [(0, 0), (1, 1), (0, 0)], "edge")
    vertical = pad(positions, [(1, 1), (0, 0), (0, 0)], "edge")
    east, south = horizontal[:, 2:] - horizontal[:, :-2], vertical[2:] - vertical[:-2]
    (ax, ay, az), (bx, by, bz) = ([edge[..., i] for i in range(3)] for edge in (south, east))
    normal = stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], -1)
    squared = sum_(f.square(normal), -1, True)
    there = f.greater(squared.detach(), 0.0)
    unit = normal * f.rsqrt(f.where(there, squared, 1.0))
    with launch.operands(np.array([0.0, 1.0, 0.0], np.float32)) as (up,):
        return f.where(there, unit, up)


def _input_gradient(gradient: Tensor, x: Tensor, grid: Tensor, call: Call) -> Tensor:
    members, channels, *spatial = x.shape
    samples, taps = math.prod(grid.shape[:-1]), TAPS[call["mode"]] ** len(spatial)
    count = members * math.prod(spatial)
    if not samples or not x.size:
        return zeros(x.shape, x.dtype)
    keys = Tensor.empty(samples * taps, u32, temporary=True)
    weights = Tensor.empty(samples * taps, f32, temporary=True)
    _launch("taps", samples, gradient, x, grid, call, keys=keys, weights=weights)
    order, sorted_keys = in_order(keys, count)
    rows = Tensor.empty((samples * taps, channels), f32, temporary=True)
    _launch("lines", rows.size, gradient, x, grid, call, order=order, known=weights, rows=rows)
    summed = reduce_by_key("sum", rows, sorted_keys, count).reshape(members, *spatial, channels)
    return summed.permute(0, summed.ndim - 1, *range(1, summed.ndim - 1))


def _grid_gradient(gradient: Tensor, x: Tensor, grid: Tensor, call: Call) -> Tensor:
    if call["mode"] == "nearest":
        raise GradientError(
            f"grid_sample by 'nearest' has no gradient by its grid, tensor {grid.name or 'unnamed'!r}: values do not "
            "change between elements; use mode='linear', or give it grid.detach()"
        )
    found = Tensor.empty(grid.shape, f32, "gradient", temporary=True)
    if found.size:
        _launch("grid_gradient", math.prod(grid.shape[:-1]), gradient, x, grid, call, found=found)
    return found


def _launch(entry: str, threads: int, gradient: Tensor, x: Tensor, grid: Tensor, call: Call, **outputs: Tensor) -> None:
    kernel = Kernel.load(
        "ops/sample_backward.wgsl",
        entry,
        {
            **{"X": x.dtype.name, "GRID": grid.dtype.name, "GRADIENT": gradient.dtype.name, "RANK": x.ndim - 2},
            **{"MODE": call["mode"], "PADDING": call["padding"], "CORNERS": call["align_corners"]},
        },
    )
    kernel(
        threads,
        overwrites=("keys", "weights", "rows", "found"),
        samples=math.prod(grid.shape[:-1]),
        channels=x.shape[1],
        outside=x.size // max(x.shape[1], 1),
        size=launch.three(x.shape[2:], 1),
        outs=launch.three(grid.shape[1:-1], 1),
        x_strides=launch.spatial_strides(x),
        grid_strides=launch.spatial_strides(grid, (0, grid.ndim - 1)),
        gradient_strides=launch.spatial_strides(gradient),
        **kernel.bound(x=x, grid=grid, gradient=gradient, **outputs),
    )
