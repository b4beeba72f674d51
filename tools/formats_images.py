"""Render the image of docs/formats.md: a glossy knot of splats, in two views and cropped.

    python tools/formats_images.py

The splats are computed here: on the shipped knot, with the light of three lamps that reaches the eye from each side,
fitted by spherical harmonics of degree 3, as training does it to photographs.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

import vertigrad as vg
from vertigrad import resources
from vertigrad.models.data import mesh_file, splat_file
from vertigrad.models.data.splat_formats.harmonics import basis
from vertigrad.models.data.splat_formats.values import FIRST_HARMONIC

OUTPUT = Path(__file__).resolve().parents[1] / "docs" / "images" / "formats-splats.jpg"
COUNT, SIZE = 60_000, (420, 360)
LAMPS = [
    ((0.6, 0.7, 0.5), (1.0, 0.82, 0.55)),
    ((-0.7, 0.3, 0.4), (0.35, 0.6, 1.0)),
    ((0.1, -0.2, -1.0), (1.0, 0.35, 0.45)),
]
SCENE = """version = 1
[camera]
position = {eye}
target = [0, 0, 0]
fov = 34
[models.knot]
type = "splats"
file = "knot.spz"
[layers.knot]
type = "splats"
{attributes}
{style}
[view]
background = "#14161b"
"""
VIEWS = [("[1.0, 1.5, 2.9]", ""), ("[-1.6, 1.2, 2.6]", ""), ("[-1.6, 1.2, 2.6]", "crop_high = [9, 9, 0.06]")]


def surface(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float]:
    """Random points on the knot (n, 3), their unit normals, and the area of the knot."""
    mesh = mesh_file.read(resources.path("assets", "data", "knot.ply"), 2.0, "y", 180.0)
    corners = mesh.positions[mesh.index.reshape(-1, 3)].astype(float)
    areas = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    triangle = rng.choice(len(areas), COUNT, p=areas / areas.sum())
    weights = rng.dirichlet(np.ones(3), COUNT)[:, :, None]
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


def splats() -> splat_file.Splats:
    rng = np.random.default_rng(3)
    points, normals, area = surface(rng)
    width = (area / COUNT) ** 0.5
    scale = np.exp(rng.normal(np.log(0.75 * width), 0.25, (COUNT, 3)))
    scale[:, 2] = 0.15 * width
    turn = np.stack([-normals[:, 1], normals[:, 0], 0.0 * normals[:, 0], 1.0 + normals[:, 2]], axis=1)
    turn[turn[:, 3] < 1e-3] = (1.0, 0.0, 0.0, 0.0)
    sight = rng.normal(size=(200, 3))
    sight /= np.linalg.norm(sight, axis=1, keepdims=True)
    fit = np.linalg.pinv(np.concatenate([np.full((200, 1), FIRST_HARMONIC), basis(sight, 3)], axis=1))
    parts = np.array_split(np.arange(COUNT), 20)
    found = np.concatenate([np.einsum("kd,ndc->nkc", fit, light(points[p], normals[p], sight)) for p in parts])
    opacity = np.clip(rng.normal(0.92, 0.08, COUNT), 0.3, 0.995)
    arrays = points, scale, turn, opacity, FIRST_HARMONIC * found[:, 0], found[:, 1:].reshape(COUNT, 45)
    return splat_file.Splats(*(array.astype(np.float32) for array in arrays))


def main() -> None:
    names = ("position", "scale", "rotation", "opacity", "color", "harmonics")
    attributes = "\n".join(f'{name} = "knot.{name}"' for name in names)
    with tempfile.TemporaryDirectory() as folder:
        splat_file.write(Path(folder) / "knot.spz", splats())
        images = []
        for number, (eye, style) in enumerate(VIEWS):
            path = Path(folder) / f"{number}.toml"
            path.write_text(SCENE.format(eye=eye, style=style, attributes=attributes))
            with vg.Scene.load(path) as scene:
                images.append(scene.render(SIZE)[..., :3])
    Image.fromarray(np.concatenate(images, axis=1)).save(OUTPUT, quality=90)


if __name__ == "__main__":
    main()
