"""The surface of a liquid as triangles: a distance from its particles on a grid, and marching cubes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from .. import ops
from ..errors import InputError
from ..gpu import Kernel, Traffic, gpu
from ..renderer.layers.liquid import LiquidDrawing
from ..tensor import Tensor, f32
from .colors import constant_color
from .geometry import Geometry, repeated
from .isosurface import Grid, mesh

SHADER = "draw/liquid_distance.wgsl"
REACH = 4.0  # sizes; a size is half the distance of particles at rest
# Sizes from the weighted mean of particles to the surface: for this one a plane is half a spacing above the particles
# of the uppermost layer, where water at rest ends. A particle alone has three quarters of its volume.
RADIUS = 1.107
LEAST = 0.75  # sum of weights on the surface, so that there is none between particles far apart; 0.78 around one alone
MOST_NODES = 1 << 26


def surface(drawing: LiquidDrawing, rows: dict[str, np.ndarray]) -> Callable[[], Geometry]:
    """What makes the closed surface of a liquid whose particles are `rows`, in any thread.

    The samples of its distance, a size of the largest particles apart, are computed now. Raises `InputError` if there
    would be too many.
    """
    position = rows["position"]
    size = drawing.attributes.number("size") * rows.get("size", np.ones((len(position), 1), np.float32))
    particles = np.concatenate([position, size], axis=1).astype(np.float32)
    particles = particles[np.isfinite(particles).all(axis=1) & (particles[:, 3] > 0.0)]
    color = constant_color(drawing.style.absorption_color)
    return partial(_surface, drawing.name, color, _distances(drawing.name, particles) if len(particles) else None)


def _surface(name: str, color: tuple[float, ...], grid: Grid | None) -> Geometry:
    if grid is None:
        none = np.zeros((0, 3), np.float32)
        return Geometry(name, "triangles", none, none, index=none.astype(np.uint32), normals=none)
    positions, normals, index = mesh(grid, 0.0)
    colors = repeated(color, len(positions))
    return Geometry(name, "triangles", positions.astype(np.float32), colors, index=index, normals=normals)


def _distances(name: str, particles: np.ndarray) -> Grid:
    """The samples, around all particles, with room for the surface."""
    spacing = float(particles[:, 3].max())
    cell = REACH * spacing
    low, high = particles[:, :3].min(0) - cell, particles[:, :3].max(0) + cell
    x, y, z = nodes = [math.ceil(edge / spacing) + 1 for edge in (high - low).tolist()]
    if math.prod(nodes) > MOST_NODES:
        raise InputError(
            f"layer {name!r}: the surface of this liquid takes {x} x {y} x {z} samples, {MOST_NODES:,} at most; "
            "leave out particles that are far away"
        )
    with (
        Tensor.empty(particles.shape, f32, f"{name}.particles") as rows,
        Tensor.empty(particles.shape, f32, f"{name}.ordered") as ordered,
        Tensor.empty((z, y, x), f32, f"{name}.distances") as values,
        ops.NeighborGrid(len(particles), 3, cell, low.tolist(), high.tolist()) as grid,
    ):
        data = memoryview(particles.reshape(-1).view(np.uint8))
        gpu().upload(rows.block.buffer, data, traffic=Traffic.DIAGNOSTICS, unused=True)
        with rows[:, 0:3] as positions:
            grid.build(positions)
        ops.reorder(rows, grid.order, ordered)
        Kernel.load(SHADER, defines=grid.defines)(
            math.prod(nodes),
            overwrites=("values",),
            starts=grid.starts,
            particles=ordered,
            values=values,
            nodes=tuple(nodes),
            low=tuple(low.tolist()),
            spacing=spacing,
            reach=REACH,
            radius=RADIUS,
            least=LEAST,
            **grid.fields,
        )
        samples = values.read_async(Traffic.DIAGNOSTICS).result()
    return Grid(samples.astype(np.float64), low.astype(np.float64), np.full(3, spacing))
