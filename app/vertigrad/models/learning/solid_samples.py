"""Positions around a mesh, and how far each is from it: below 0 inside."""

from __future__ import annotations

import numpy as np

from ..data.triangles import nearest_points

VERSION = 1  # of `distances`: those that are stored are computed again when it changes
NEAR = 7 / 8  # fraction of the positions near the surface; the others are anywhere
PART = 2048  # positions per batch
CELLS = 8  # along each axis of the box of the positions: those of a cell are near the same triangles
TOGETHER = 64  # cells whose distances from all triangles are computed at once
ROUNDING = 1e-6  # of these distances, relative to coordinates: they are roots of differences of squares


def sample_positions(
    positions: np.ndarray, index: np.ndarray, count: int, spread: float, random: np.random.Generator
) -> np.ndarray:
    """Positions (count, 3), float64: most of them near the surface, with normal noise of deviation `spread`."""
    near = round(NEAR * count)
    around = on_surface(positions, index, near, random) + spread * random.normal(size=(near, 3))
    return np.clip(np.concatenate([around, random.uniform(-1.0, 1.0, (count - near, 3))]), -1.0, 1.0)


def on_surface(positions: np.ndarray, index: np.ndarray, count: int, random: np.random.Generator) -> np.ndarray:
    """Positions (count, 3) spread evenly over the triangles (Turk 1990, Generating random points in triangles)."""
    corners = positions.astype(float)[index]
    a, b, c = np.moveaxis(corners, 1, 0)
    areas = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    chosen = random.choice(len(index), count, p=areas / areas.sum())
    root, part = np.sqrt(random.random(count)), random.random(count)
    barycentric = np.stack([1.0 - root, root * (1.0 - part), root * part], axis=1)
    return np.einsum("nk,nkd->nd", barycentric, corners[chosen])


def distances(positions: np.ndarray, index: np.ndarray, spots: np.ndarray) -> np.ndarray:
    """Signed distances (n,) of positions (n, 3) from the triangles of a closed mesh, float64.

    A triangle can be the nearest only if its middle is no farther than the nearest middle by more than the triangle
    reaches: few are left to be tested, first for a whole cell of positions, then for each of them. The sign is that of
    the triangle that faces the point most; where several are equally near, that one decides whether a position is
    inside.
    """
    corners = positions.astype(float)[index]
    middles = corners.mean(axis=1)
    reaches = np.linalg.norm(corners - middles[:, None], axis=-1).max(axis=1)
    found, cells = np.empty(len(spots)), _by_cell(spots)
    rounding = ROUNDING * max(np.abs(middles).max(), np.abs(spots).max())
    centers = np.array([spots[members].mean(axis=0) for members in cells])
    for first in range(0, len(cells), TOGETHER):
        away = np.sqrt(np.maximum(_squares(centers[first : first + TOGETHER], middles), 0.0))
        nearest = away.min(axis=1)
        for at, members in enumerate(cells[first : first + TOGETHER]):
            inside = spots[members]
            radius = np.linalg.norm(inside - centers[first + at], axis=1).max()
            near = away[at] <= (nearest[at] + 2.0 * radius + reaches) * (1.0 + 1e-9) + rounding
            found[members] = _part(corners[near], middles[near], reaches[near], inside)
    return found


def _squares(spots: np.ndarray, middles: np.ndarray) -> np.ndarray:
    """The square of the distance of each position (n, 3) from each middle (m, 3), (n, m); rounded, also below 0."""
    return (spots**2).sum(1)[:, None] + (middles**2).sum(1) - 2.0 * spots @ middles.T


def _by_cell(spots: np.ndarray) -> list[np.ndarray]:
    """The numbers of the positions in each cell that has some, in batches."""
    low, high = spots.min(axis=0), spots.max(axis=0)
    cell = np.minimum((spots - low) / np.maximum(high - low, 1e-300) * CELLS, CELLS - 1).astype(int)
    key = cell @ (CELLS**2, CELLS, 1)
    order = np.argsort(key, kind="stable")
    cells = np.split(order, np.nonzero(np.diff(key[order]))[0] + 1)
    return [batch for members in cells for batch in np.array_split(members, -(-len(members) // PART))]


def _part(corners: np.ndarray, middles: np.ndarray, reaches: np.ndarray, spots: np.ndarray) -> np.ndarray:
    squares = _squares(spots, middles)
    nearest = np.sqrt(np.maximum(squares.min(axis=1), 0.0))
    limit = (nearest[:, None] + reaches) * (1.0 + 1e-9) + 1e-9
    spot, triangle = np.nonzero(squares <= limit**2)
    away = spots[spot] - nearest_points(corners[triangle], spots[spot])
    length = np.linalg.norm(away, axis=1)
    a, b, c = np.moveaxis(corners[triangle], 1, 0)
    across = np.cross(b - a, c - a)
    height = np.einsum("nd,nd->n", away, across) / np.maximum(np.linalg.norm(across, axis=1), 1e-300)
    least = np.full(len(spots), np.inf)
    np.minimum.at(least, spot, length)
    is_nearest = length <= least[spot] * (1.0 + 1e-9) + 1e-12
    steepest = np.zeros(len(spots))
    np.maximum.at(steepest, spot[is_nearest], np.abs(height[is_nearest]))
    decides = is_nearest & (np.abs(height) >= steepest[spot])
    sign = np.ones(len(spots))
    sign[spot[decides]] = np.where(height[decides] < 0.0, -1.0, 1.0)
    return sign * least
