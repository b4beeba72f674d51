"""The triangles of an isosurface, by the table and formulas of shaders/draw/isosurface.wgsl, with shared vertices."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from ..renderer.layers.box import inset
from ..renderer.layers.isosurface import IsosurfaceDrawing
from ..renderer.layers.marching import MOST, ends, triangles
from .colors import colormapped, constant_color
from .geometry import Geometry, repeated

NONE = -1  # instead of an edge


def surface(drawing: IsosurfaceDrawing, fields: dict[str, np.ndarray]) -> Callable[[], Geometry]:
    """What makes the geometry that an isosurface draws now, in any thread: it does not follow later changes.

    `fields` are its samples: "values" (nz, ny, nx), and perhaps "color".
    """
    style = drawing.style.model_copy(deep=True)
    color = constant_color(drawing.attributes.constants.get("color"))
    return partial(_surface, drawing.name, style, drawing.box.fit(style), color, fields)


def _surface(name: str, style: Any, corners: Any, color: tuple[float, ...], fields: dict[str, np.ndarray]) -> Geometry:
    values = fields["values"].astype(np.float64)
    low, high = (np.array(corner, np.float64) for corner in corners)
    margin = inset(style)
    spacing = (high - low) / (np.array(values.shape[::-1]) - 1 + 2 * margin)
    world, normals, index = mesh(Grid(values, low + margin * spacing, spacing), style.level)
    fraction = (world - low) / (high - low)
    return Geometry(
        name=name,
        kind="triangles",
        positions=world.astype(np.float32),
        index=index,
        normals=normals,
        **_colors(style, color, fields.get("color"), fraction, margin),
    )


class Grid(NamedTuple):
    """Samples (nz, ny, nx), f64, the first one at `low`, `spacing` apart along x, y and z."""

    values: np.ndarray
    low: np.ndarray
    spacing: np.ndarray


def mesh(grid: Grid, level: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The surface where samples have the value `level`, which faces larger ones.

    Returns positions f64 (n, 3), unit normals f32 (n, 3), and triangles u32 (m, 3).
    """
    values, low, spacing = grid
    start, axis, index = _edges(values, level)
    end = start + np.eye(3, dtype=np.int64)[axis]
    first, last = values[_at(start)], values[_at(end)]
    span = last - first
    part = np.clip((level - first) / np.where(span != 0.0, span, 1.0), 0.0, 1.0)[:, None]
    world = low + (start + part * (end - start)) * spacing
    normals = (1.0 - part) * _gradient(values, start, spacing) + part * _gradient(values, end, spacing)
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    normals = np.where(length > 0.0, normals / np.where(length > 0.0, length, 1.0), (0.0, 1.0, 0.0))
    return world, normals.astype(np.float32), index


def _edges(values: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The edges of cells that the surface crosses: where they start (n, 3), along which axis (n,); and triangles (m, 3)
    between them. A cell with a sample that is not finite has none.
    """
    cells = tuple(n - 1 for n in values.shape)
    below, whole = np.zeros(cells, np.int64), np.ones(cells, bool)
    finite, under = np.isfinite(values), values < np.float32(level)
    for corner in range(8):
        x, y, z = corner & 1, corner >> 1 & 1, corner >> 2
        part = tuple(slice(first, first + n) for first, n in zip((z, y, x), cells, strict=True))
        below |= under[part].astype(np.int64) << corner
        whole &= finite[part]
    z, y, x = np.nonzero(whole & (below != 0) & (below != 255))
    numbers = _table()[below[z, y, x]]
    used = numbers != NONE
    cell, number = np.stack([x, y, z], axis=1)[np.nonzero(used)[0]], numbers[used]
    start, axis = cell + _starts()[number], number // 4
    ids = np.ravel_multi_index((start[:, 2], start[:, 1], start[:, 0], axis), (*values.shape, 3))
    unique, index = np.unique(ids, return_inverse=True)
    z, y, x, axis = np.unravel_index(unique, (*values.shape, 3))
    return np.stack([x, y, z], axis=1), axis, index.reshape(-1, 3).astype(np.uint32)


@cache
def _table() -> np.ndarray:
    """The edges of each kind of cell, (256, 15), three for each triangle."""
    table = np.full((256, 3 * MOST), NONE)
    for inside in range(256):
        found = [number for triangle in triangles(inside) for number in triangle]
        table[inside, : len(found)] = found
    return table


@cache
def _starts() -> np.ndarray:
    """Where each of the twelve edges starts in its cell, x, y, z."""
    low = [ends(number)[0] for number in range(12)]
    return np.array([(corner & 1, corner >> 1 & 1, corner >> 2) for corner in low])


def _at(samples: np.ndarray) -> tuple[np.ndarray, ...]:
    """To index an array (nz, ny, nx) by samples x, y, z."""
    return samples[:, 2], samples[:, 1], samples[:, 0]


def _gradient(values: np.ndarray, sample: np.ndarray, spacing: np.ndarray) -> np.ndarray:
    """Central differences at samples x, y, z; one-sided at the faces of the grid."""
    last, found = np.array(values.shape[::-1]) - 1, np.empty(sample.shape)
    for axis in range(3):
        step = np.eye(3, dtype=np.int64)[axis]
        before, after = np.maximum(sample - step, 0), np.minimum(sample + step, last)
        width = (after - before)[:, axis] * spacing[axis]
        found[:, axis] = (values[_at(after)] - values[_at(before)]) / width
    return found


def _colors(
    style: Any, color: tuple[float, ...], grid: np.ndarray | None, fraction: np.ndarray, margin: float
) -> dict[str, Any]:
    if grid is None:
        return {"colors": repeated(color, len(fraction))}
    size = np.array(grid.shape[2::-1])
    sample = fraction * (size - 1 + 2 * margin) - margin
    if grid.ndim == 4:
        nearest = np.clip(np.rint(sample).astype(np.int64), 0, size - 1)
        return {"colors": np.ascontiguousarray(grid[_at(nearest)], np.float32)}
    scalars = _between(grid, sample).astype(np.float32)
    return {"colors": colormapped(scalars, grid, style), "scalars": scalars}


def _between(grid: np.ndarray, sample: np.ndarray) -> np.ndarray:
    """Trilinear between the samples of a grid (nz, ny, nx), at positions x, y, z counted in samples."""
    cell = np.floor(sample).astype(np.int64)
    part, last = sample - cell, np.array(grid.shape[::-1]) - 1
    found = np.zeros(len(sample))
    for corner in np.ndindex(2, 2, 2):
        weight = np.prod(np.where(corner, part, 1.0 - part), axis=1)
        found += weight * grid[_at(np.clip(cell + corner, 0, last))]
    return found
