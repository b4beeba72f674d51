"""How bodies of obstacles' shapes move: their mass, center of mass, inertia and the points that touch others."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from ..reference.obstacle import BOX, CYLINDER, POINTS, SPHERE, Rigid

Doubles = NDArray[np.float64]
AROUND = 13  # contact points on each rim of a cylinder
DIRECTIONS = np.array([d for d in product((-1.0, 0.0, 1.0), repeat=3) if any(d)])


def rigid(kind: int, half: Doubles, scale: float, samples: np.ndarray, density: float, friction: float) -> Rigid | None:
    """A body of this shape and density [kg/m³]; None if it has no volume.

    `half` are half the edges of its box, before its scale; `samples` the distances of a grid (nz, ny, nx).
    """
    if kind == BOX:
        volume, second = 8.0 * half.prod(), np.diag(half**2 / 3.0)
        points, radius, center = half * DIRECTIONS, 0.0, np.zeros(3)
    elif kind == SPHERE:
        volume, second = 4.0 / 3.0 * np.pi * half[0] ** 3, np.eye(3) * half[0] ** 2 / 5.0
        points, radius, center = np.zeros((1, 3)), half[0] * scale, np.zeros(3)
    elif kind == CYLINDER:
        volume = 2.0 * np.pi * half[0] ** 2 * half[1]
        second = np.diag([half[0] ** 2 / 4.0, half[1] ** 2 / 3.0, half[0] ** 2 / 4.0])
        angle = np.arange(AROUND) * 2.0 * np.pi / AROUND
        rim = np.stack([half[0] * np.cos(angle), np.full(AROUND, half[1]), half[0] * np.sin(angle)], axis=1)
        caps = [[0.0, half[1], 0.0], [0.0, -half[1], 0.0]]
        points, radius, center = np.concatenate([rim, rim * [1, -1, 1], caps]), 0.0, np.zeros(3)
    else:
        volume, center, second, points = _sampled(half, samples)
        radius = 0.0
    if volume <= 0.0:
        return None
    mass = density * volume * scale**3
    inertia = mass * scale**2 * (np.trace(second) * np.eye(3) - second)
    elements = inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    return Rigid(mass, center, elements, points[:POINTS], radius, friction)


def _sampled(half: Doubles, distances: np.ndarray) -> tuple[float, Doubles, Doubles, Doubles]:
    """Volume, center, second moments about it over the volume, and the farthest points along many directions."""
    nz, ny, nx = distances.shape
    axes = [np.linspace(-1.0, 1.0, n) * edge for n, edge in zip((nx, ny, nz), half, strict=True)]
    z, y, x = np.meshgrid(*axes[::-1], indexing="ij")
    at = np.stack([x, y, z], axis=-1).reshape(-1, 3)
    edges = 2.0 * half / (np.array([nx, ny, nz]) - 1.0)
    share = np.clip(0.5 - distances.ravel() / edges.min(), 0.0, 1.0)  # of the cell around each sample that is inside
    for axis, far in enumerate(half):
        share = share * np.where(np.abs(at[:, axis]) > far - 0.25 * edges[axis], 0.5, 1.0)
    total = share.sum()
    if total <= 0.0:
        return 0.0, np.zeros(3), np.eye(3), np.zeros((0, 3))
    center = share @ at / total
    away = at - center
    second = (away * share[:, None]).T @ away / total
    inside = away[distances.ravel() <= 0.25 * edges.min()]
    farthest = inside[(inside @ (DIRECTIONS / np.linalg.norm(DIRECTIONS, axis=1)[:, None]).T).argmax(axis=0)]
    return total * edges.prod(), center, second, np.unique(farthest, axis=0) + center
