"""Surfaces on which something diffuses: points, normals, triangles, and the weights of a Laplacian on them.

On a mesh, (Lu)_i = Σ_j w_ij (u_j − u_i) / A_i with w_ij = (cot α + cot β) / 2, the angles opposite to the edge ij
(Pinkall & Polthier 1993, Experimental Mathematics 2, 15), and A_i what of the triangles around i is nearer to it than
to their other corners, the "mixed area" of Meyer, Desbrun, Schröder & Barr 2003. As w is symmetric, Σ A_i (Lu)_i = 0:
diffusion conserves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError

Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

EDGE = 2.0  # of the plane; the sphere has the radius 1
THICKNESS = 0.42  # radius of the torus' tube, its center line having the radius 1


class Surface(NamedTuple):
    """A surface of n points. Neighbors of point i are `neighbors[starts[i] : starts[i + 1]]`, with w_ij / A_i."""

    points: Doubles  # (n, 3)
    normals: Doubles  # (n, 3), unit vectors
    areas: Doubles  # (n,), what of the surface belongs to each point
    triangles: Integers  # (t, 3)
    starts: Integers  # (n + 1,)
    neighbors: Integers  # (e,)
    weights: Doubles  # (e,)

    @property
    def area(self) -> float:
        """The area of all of it."""
        return float(self.areas.sum())

    @property
    def steepest(self) -> float:
        """No eigenvalue of −L is larger than this (Gershgorin's circles)."""
        rows = np.repeat(np.arange(len(self.points)), np.diff(self.starts))
        sums = np.bincount(rows, self.weights, len(self.points))
        return float((np.abs(sums) + np.bincount(rows, np.abs(self.weights), len(self.points))).max())


def plane(side: int) -> tuple[Doubles, Doubles]:
    """Points (side², 3) by row, rows along z and columns along x, around the origin; and their normals, all +y."""
    along = (np.arange(side) - 0.5 * (side - 1)) * (EDGE / side)
    points = np.zeros((side, side, 3))
    points[..., 2], points[..., 0] = np.meshgrid(along, along, indexing="ij")
    return points.reshape(-1, 3), np.tile([0.0, 1.0, 0.0], (side * side, 1))


def sphere(points: int) -> Surface:
    """An icosahedron, its faces divided and pushed out to radius 1, with about so many points."""
    corners, faces = _icosahedron()
    parts = max(1, round(np.sqrt(max(points - 2, 10) / 10.0)))
    steps = [(i, j) for i in range(parts + 1) for j in range(parts + 1 - i)]
    number = {step: index for index, step in enumerate(steps)}
    small = [(number[i, j], number[i + 1, j], number[i, j + 1]) for i, j in steps if i + j < parts]
    small += [(number[i + 1, j], number[i + 1, j + 1], number[i, j + 1]) for i, j in steps if i + j < parts - 1]
    barycentric = np.array([(parts - i - j, i, j) for i, j in steps]) / parts
    flat = np.einsum("sk,fkx->fsx", barycentric, corners[faces]).reshape(-1, 3)
    triangles = (np.array(small)[None] + len(steps) * np.arange(len(faces))[:, None, None]).reshape(-1, 3)
    unit = flat / np.linalg.norm(flat, axis=1, keepdims=True)
    _, first, same = np.unique(np.round(unit, 9) + 0.0, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)  # as the faces come, so that neighbors are near each other in memory
    new_index = np.empty_like(order)
    new_index[order] = np.arange(len(order))
    points_ = unit[first[order]]
    return surface(points_, new_index[same.ravel()[triangles]], points_)


def torus(points: int) -> Surface:
    """A ring around the y axis with about so many points, its triangles nearly equilateral where it is not curved."""
    ratio = 2.0 / np.sqrt(3.0) / THICKNESS  # of columns to rows, of which every other is shifted by half a column
    rows = max(4, 2 * round(0.5 * np.sqrt(points / ratio)))
    columns = max(4, round(points / rows))
    i, j = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    around, along = 2.0 * np.pi * i / rows, 2.0 * np.pi * (j + 0.5 * (i % 2)) / columns
    out = np.stack([np.cos(along) * np.cos(around), np.sin(around), np.sin(along) * np.cos(around)], axis=-1)
    center = np.stack([np.cos(along), 0.0 * along, np.sin(along)], axis=-1)
    next_row, next_column = (i + 1) % rows, (j + 1) % columns
    here, after = i * columns + j, i * columns + next_column
    left, right = next_row * columns + j, next_row * columns + next_column
    even = np.stack([np.stack([here, left, after], -1), np.stack([after, left, right], -1)])
    shifted = np.stack([np.stack([here, left, right], -1), np.stack([here, right, after], -1)])
    triangles = np.where((i % 2)[..., None], shifted, even).reshape(-1, 3)
    return surface((center + THICKNESS * out).reshape(-1, 3), triangles, out.reshape(-1, 3))


def surface(points: Doubles, triangles: Integers, normals: Doubles | None = None) -> Surface:
    """The surface of `triangles` (t, 3) between `points` (n, 3); `normals` are computed if they are not given.

    Raises `InputError` if a triangle names a point that is not there or has no area, or if a point has no triangle.
    """
    count = len(points)
    _require_corners(count, triangles)
    corners = points[triangles]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    doubled = np.linalg.norm(across, axis=1)
    size = float(np.ptp(points, axis=0).max())
    if not doubled.min() > 1e-12 * size**2:
        raise InputError(f"triangle {doubled.argmin()} of the surface has no area; merge its corners in the mesh")
    areas = np.bincount(triangles.ravel(), _corner_areas(corners, doubled).ravel(), count).astype(float)
    if not areas.min() > 0.0:
        raise InputError(f"point {areas.argmin()} of the surface belongs to no triangle; remove it from the mesh")
    if normals is None:
        normals = _normals(across, triangles, count)
    starts, neighbors, weights = _cotangents(corners, doubled, triangles, count)
    rows = np.repeat(np.arange(count), np.diff(starts))
    return Surface(points, normals, areas, triangles, starts, neighbors, weights / areas[rows])


def _normals(across: Doubles, triangles: Integers, count: int) -> Doubles:
    """Unit normals of points, from those of their triangles by area."""
    sums = np.stack([np.bincount(triangles.ravel(), np.repeat(across[:, k], 3), count) for k in range(3)], axis=-1)
    return sums.astype(float) / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-30)


def _corner_areas(corners: Doubles, doubled: Doubles) -> Doubles:
    opposite = np.stack([corners[:, (k + 2) % 3] - corners[:, (k + 1) % 3] for k in range(3)], axis=1)
    squares = np.einsum("tkx,tkx->tk", opposite, opposite)
    twice_cosines = squares.sum(axis=1, keepdims=True) - 2.0 * squares  # times both sides at each corner
    areas = squares * twice_cosines / doubled[:, None] / 16.0  # an edge squared by the cotangent opposite to it
    nearest = areas.sum(axis=1, keepdims=True) - areas
    blunt = twice_cosines < 0.0
    halves = np.where(blunt, 0.25, 0.125) * doubled[:, None]
    return np.where(blunt.any(axis=1, keepdims=True), halves, nearest)


def merged(points: Doubles, triangles: Integers) -> tuple[Doubles, Integers]:
    """The same triangles with equal points merged: meshes are cut at their creases, and nothing would cross.

    Raises `InputError` if a triangle names a point that is not there.
    """
    _require_corners(len(points), triangles)
    unique_points, first, same = np.unique(points, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)  # as they were
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    return unique_points[order], number[same.ravel()[triangles]]


def _require_corners(count: int, triangles: Integers) -> None:
    if not len(triangles) or triangles.min() < 0 or triangles.max() >= count:
        raise InputError(f"a surface of {len(triangles)} triangles with indices beyond its {count} points")


def _cotangents(
    corners: Doubles, doubled: Doubles, triangles: Integers, count: int
) -> tuple[Integers, Integers, Doubles]:
    """Starts, neighbors and (cot α + cot β) / 2 by point, each point's neighbors in rising order."""
    ends, halves = [], []
    for k in range(3):  # the angle at corner k is opposite to the edge between the two others
        one, other = corners[:, (k + 1) % 3] - corners[:, k], corners[:, (k + 2) % 3] - corners[:, k]
        half = 0.5 * np.einsum("tx,tx->t", one, other) / doubled
        edge = triangles[:, [(k + 1) % 3, (k + 2) % 3]]
        ends += [edge, edge[:, ::-1]]
        halves += [half, half]
    from_, to = np.concatenate(ends).T
    pairs, which = np.unique(from_ * count + to, return_inverse=True)
    weights = np.bincount(which.ravel(), np.concatenate(halves)).astype(float)
    starts = np.searchsorted(pairs, count * np.arange(count + 1))
    return starts, pairs % count, weights


def _icosahedron() -> tuple[Doubles, Integers]:
    """Twelve corners and twenty faces, counterclockwise viewed from outside."""
    golden = 0.5 * (1.0 + np.sqrt(5.0))
    flat = [(0.0, a, b * golden) for a in (-1.0, 1.0) for b in (-1.0, 1.0)]
    corners = np.array([np.roll(point, k) for k in range(3) for point in flat])
    near = np.linalg.norm(corners[:, None] - corners, axis=2) < 2.1
    some = [
        (a, b, c) for a in range(12) for b in range(a) for c in range(b) if near[a, b] and near[b, c] and near[a, c]
    ]
    faces = np.array(some)
    inwards = np.linalg.det(corners[faces]) < 0.0
    faces[inwards] = faces[inwards][:, ::-1]
    return corners, faces
