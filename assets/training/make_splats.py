"""Make data/glossy_knot.spz: Gaussian splats on the shipped knot, whose colors depend on the view direction.

    python assets/training/make_splats.py

Their light is that of three lamps, as it reaches the eye from each side, fitted by spherical harmonics, as training
does it to photographs.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vertigrad import resources
from vertigrad.models.data import mesh_file, splat_file
from vertigrad.models.data.splat_formats.harmonics import basis
from vertigrad.models.data.splat_formats.values import FIRST_HARMONIC, HARMONICS

OUTPUT = Path(__file__).resolve().parents[1] / "data" / "glossy_knot.spz"
COUNT, DEGREE = 16_000, 2
LAMPS = [
    ((0.6, 0.7, 0.5), (1.0, 0.82, 0.55)),
    ((-0.7, 0.3, 0.4), (0.35, 0.6, 1.0)),
    ((0.1, -0.2, -1.0), (1.0, 0.35, 0.45)),
]


def surface(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Random points on the knot (n, 3), their unit normals, and the area of the knot."""
    mesh = mesh_file.read(resources.path("assets", "data", "knot.ply"), 2.0, "y", 180.0)
    corners = mesh.positions[mesh.index.reshape(-1, 3)].astype(float)
    areas = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    triangle = rng.choice(len(areas), count, p=areas / areas.sum())
    weights = rng.dirichlet(np.ones(3), count)[:, :, None]
    normals = (weights * mesh.normals[mesh.index.reshape(-1, 3)][triangle]).sum(axis=1)
    return (
        (weights * corners[triangle]).sum(axis=1),
        normals / np.linalg.norm(normals, axis=1, keepdims=True),
        areas.sum(),
    )


def light(points: np.ndarray, normals: np.ndarray, sight: np.ndarray) -> np.ndarray:
    """What is seen of each point along each direction, (points, directions, 3): matte, with a gloss (Phong 1975)."""
    own = 0.17 + 0.06 * np.sin(3.0 * (points @ (1.7, 2.3, 1.1))[:, None] + np.arange(3.0))
    found = np.repeat(own[:, None], len(sight), axis=1)
    for direction, color in LAMPS:
        lamp = np.array(direction) / np.linalg.norm(direction)
        facing = np.maximum(normals @ lamp, 0.0)
        gloss = np.maximum((2.0 * facing[:, None] * normals - lamp) @ -sight.T, 0.0) ** 8 * (facing > 0.0)[:, None]
        found = found + (1.6 * facing[:, None] * own)[:, None] * color + 0.75 * gloss[..., None] * color
    return found


def splats(count: int, degree: int) -> splat_file.Splats:
    """So many, with harmonics of degree 1 to `degree`."""
    rng = np.random.default_rng(3)
    points, normals, area = surface(rng, count)
    width = (area / count) ** 0.5
    scale = np.exp(rng.normal(np.log(0.75 * width), 0.25, (count, 3)))
    scale[:, 2] = 0.15 * width
    turn = np.stack([-normals[:, 1], normals[:, 0], 0.0 * normals[:, 0], 1.0 + normals[:, 2]], axis=1)
    turn[turn[:, 3] < 1e-3] = (1.0, 0.0, 0.0, 0.0)
    sight = rng.normal(size=(200, 3))
    sight /= np.linalg.norm(sight, axis=1, keepdims=True)
    fit = np.linalg.pinv(np.concatenate([np.full((200, 1), FIRST_HARMONIC), basis(sight, degree)], axis=1))
    parts = np.array_split(np.arange(count), 20)
    found = np.concatenate([np.einsum("kd,ndc->nkc", fit, light(points[p], normals[p], sight)) for p in parts])
    opacity = np.clip(rng.normal(0.92, 0.08, count), 0.3, 0.995)
    arrays = points, scale, turn, opacity, FIRST_HARMONIC * found[:, 0], found[:, 1:].reshape(count, HARMONICS[degree])
    return splat_file.Splats(*(array.astype(np.float32) for array in arrays))


def main() -> None:
    splat_file.write(OUTPUT, splats(COUNT, DEGREE))


if __name__ == "__main__":
    main()
