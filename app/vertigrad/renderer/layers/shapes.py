"""Small meshes that layers draw for each row: vertices, unit normals and outward-facing triangles; and grids."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

ROUND = 24  # vertices around what is round
RINGS = 12  # of a sphere, from pole to pole
ARROW_ROUND = 14
TILE = 16  # columns drawn together: few enough that the row before is still in the vertex cache


class Shape(NamedTuple):
    """`positions` and `normals` f32 (n, 3), `index` u32 (m, 3)."""

    positions: np.ndarray
    normals: np.ndarray
    index: np.ndarray


def sphere() -> Shape:
    """Of radius 1."""
    polar, around = np.meshgrid(np.linspace(0, np.pi, RINGS + 1), np.linspace(0, 2 * np.pi, ROUND + 1), indexing="ij")
    positions = np.stack([np.sin(polar) * np.cos(around), np.cos(polar), np.sin(polar) * np.sin(around)], axis=-1)
    return _checked(positions.reshape(-1, 3), positions.reshape(-1, 3), _strips(RINGS + 1, ROUND + 1))


def cube() -> Shape:
    """From -1 to 1 along each axis."""
    positions, normals, index = [], [], []
    for axis in range(3):
        for side in (-1.0, 1.0):
            normal = np.eye(3)[axis] * side
            one, two = np.eye(3)[(axis + 1) % 3], np.eye(3)[(axis + 2) % 3] * side
            first = len(positions)
            positions += [normal - one - two, normal + one - two, normal - one + two, normal + one + two]
            normals += [normal] * 4
            index += [(first, first + 1, first + 2), (first + 2, first + 1, first + 3)]
    return _checked(np.array(positions), np.array(normals), np.array(index))


def plane() -> Shape:
    """From -1 to 1 along x and z, at y = 0, facing up."""
    positions = np.array([(-1, 0, -1), (1, 0, -1), (-1, 0, 1), (1, 0, 1)], np.float32)
    normals = np.tile(np.array([0, 1, 0], np.float32), (4, 1))
    return Shape(positions, normals, np.array([[0, 2, 1], [1, 2, 3]], np.uint32))


def octahedron() -> Shape:
    """With its corners 1 from the middle along each axis; its faces are flat."""
    positions, normals = [], []
    for signs in np.ndindex(2, 2, 2):
        x, y, z = 1.0 - 2.0 * np.array(signs)
        corners = np.diag([x, y, z])
        positions += list(corners if x * y * z > 0 else corners[::-1])
        normals += [np.array([x, y, z]) / 3**0.5] * 3
    return _checked(np.array(positions), np.array(normals), np.arange(24).reshape(-1, 3))


def cylinder() -> Shape:
    """Of radius 1, from y = -1 to 1."""
    return _turned([(1, -1), (1, 1)], [(1, 0), (1, 0)], caps=((-1, -1), (1, 1)))


def cone() -> Shape:
    """Of radius 1, from y = -1 to its tip at y = 1."""
    slope = np.array([2, 1]) / 5**0.5
    return _turned([(1, -1), (0, 1)], [slope, slope], caps=((-1, -1),))


def arrow() -> Shape:
    """An arrow for shaders/draw/instances.wgsl: the integer part of y, and the normal's y, are indices of its parts."""
    shaft = _turned([(1, 0), (1, 1)], [(1, 0), (1, 0)], caps=((0, -1),), round=ARROW_ROUND)
    head = _turned([(1, 2), (0, 3)], [(1, 1), (1, 1)], caps=((2, -1),), round=ARROW_ROUND)
    return Shape(
        np.concatenate([shaft.positions, head.positions]),
        np.concatenate([shaft.normals, head.normals]),
        np.concatenate([shaft.index, head.index + np.uint32(len(shaft.positions))]),
    )


SHAPES = {make.__name__: make for make in (cube, sphere, octahedron, cylinder, cone, plane)}


@cache
def shape(name: str) -> Shape:
    """One of `SHAPES`, or "arrow"."""
    return (SHAPES | {"arrow": arrow})[name]()


def grid_triangles(rows: int, columns: int) -> np.ndarray:
    """Vertex indices of the triangles, uint32 [2 * (rows - 1) * (columns - 1), 3], for vertices in row-major order.

    The diagonals of neighboring cells alternate in direction, so shading shows no grain.
    """
    y, x = np.mgrid[0 : rows - 1, 0 : columns - 1]
    order = np.lexsort((x.ravel(), y.ravel(), x.ravel() // TILE))
    y, x = y.ravel()[order], x.ravel()[order]
    corner = y * columns + x
    right, below = corner + 1, corner + columns
    across = below + 1
    even = np.stack([corner, below, across, corner, across, right], axis=1)
    odd = np.stack([corner, below, right, right, below, across], axis=1)
    cells = np.where(((x + y) % 2 == 0)[:, None], even, odd)
    return cells.reshape(-1, 3).astype(np.uint32)


def _turned(profile: list, normals: list, caps: tuple = (), round: int = ROUND) -> Shape:
    """The surface of revolution of a profile (radius, y) around the y axis; `caps` are unit discs: their y and side."""
    around = np.linspace(0, 2 * np.pi, round + 1)
    circle = np.stack([np.cos(around), np.zeros_like(around), -np.sin(around)], axis=-1)
    up = np.array([0.0, 1.0, 0.0])
    positions = [np.concatenate([r * circle + y * up for r, y in profile])]
    sides = [np.concatenate([r * circle + y * up for r, y in normals])]
    index = [_strips(len(profile), round + 1)]
    first = len(profile) * (round + 1)
    for y, side in caps:
        positions.append(np.concatenate([circle + y * up, [y * up]]))
        sides.append(np.tile(side * up, (round + 2, 1)))
        rim = first + np.arange(round)
        fan = np.stack([np.full(round, first + round + 1), rim, rim + 1], axis=-1)
        index.append(fan if side > 0 else fan[:, ::-1])
        first += round + 2
    return _checked(np.concatenate(positions), np.concatenate(sides), np.concatenate(index))


def _strips(rows: int, columns: int) -> np.ndarray:
    y, x = (grid.ravel() for grid in np.mgrid[: rows - 1, : columns - 1])
    corner = y * columns + x
    below = corner + columns
    return np.concatenate([np.stack([corner, corner + 1, below], -1), np.stack([below, corner + 1, below + 1], -1)])


def _checked(positions: np.ndarray, normals: np.ndarray, index: np.ndarray) -> Shape:
    """As arrays for the GPU, without triangles that have no area."""
    corners = positions[index]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=-1)
    with_area = index[area > 1e-9]
    return Shape(positions.astype(np.float32), normals.astype(np.float32), np.ascontiguousarray(with_area, np.uint32))
