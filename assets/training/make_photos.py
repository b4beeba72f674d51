"""Make data/photos: photos of a scene whose truth is known, and a sparse model of COLMAP of it.

    python assets/training/make_photos.py

A knot of brass and balls of many colors are rendered from cameras around them; the points of the sparse model are
pixels of the photos, at their depths.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

import vertigrad as vg

OUTPUT = Path(__file__).resolve().parents[1] / "data" / "photos"
VIEWS, SIZE, FIELD, DISTANCE = 40, (240, 180), 40.0, 3.9  # degrees, upright
POINTS = 60  # of each photo
SCENE = """version = 1
[models.knot]
type = "mesh"
file = "assets/data/knot.ply"
[models.balls]
type = "point_cloud"
file = "balls.npy"
size = 0
[layers.knot]
type = "surface"
position = "knot.position"
normal = "knot.normal"
index = "knot.index"
color = "#d9a24a"
metallic = 0.6
roughness = 0.35
[layers.balls]
type = "points"
position = "balls.position"
color = "balls.color"
size = 0.13
[view]
background = "#000000"
bloom = 0
vignette = 0
sun = 2.4
sun_azimuth = -35
sun_elevation = 48
"""


def balls(count: int) -> np.ndarray:
    """Positions around the origin and colors, (count, 6)."""
    number = np.arange(count) + 0.5
    height, angle = 1.0 - 2.0 * number / count, np.pi * (1.0 + 5.0**0.5) * number
    around = np.sqrt(1.0 - height**2)
    position = 1.25 * np.stack([around * np.cos(angle), 0.7 * height, around * np.sin(angle)], axis=1)
    color = 0.5 + 0.45 * np.cos(2.4 * number[:, None] + 2.0 * np.pi * np.arange(3) / 3.0)
    return np.concatenate([position, color], axis=1).astype(np.float32)


def eye(view: int) -> np.ndarray:
    """Where a camera is: on three rings."""
    angle, height = 2.0 * np.pi * (view + 0.3) / VIEWS * 3.0, (-0.35, 0.45, 1.0)[view % 3]
    direction = np.array([np.cos(angle), height, np.sin(angle)])
    return DISTANCE * direction / np.linalg.norm(direction)


def pose(position: np.ndarray) -> np.ndarray:
    """Rows of the rotation to x right, y down, z forward of a camera directed at the origin."""
    forward = -position / np.linalg.norm(position)
    right = np.cross(forward, [0.0, 1.0, 0.0])
    right /= np.linalg.norm(right)
    return np.stack([right, np.cross(forward, right), forward])


def quaternion(turn: np.ndarray) -> np.ndarray:
    """w, x, y, z of a rotation that is not by half a turn."""
    w = 0.5 * np.sqrt(1.0 + np.trace(turn))
    skew = turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]
    return np.array([w, *(one / (4.0 * w) for one in skew)])


def main() -> None:
    width, height = SIZE
    focal = 0.5 * height / np.tan(0.5 * np.radians(FIELD))
    shutil.rmtree(OUTPUT, ignore_errors=True)
    (OUTPUT / "images").mkdir(parents=True)
    (OUTPUT / "sparse").mkdir()
    random, images, points = np.random.default_rng(1), [], []
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "balls.npy", balls(42))
        (Path(folder) / "scene.toml").write_text(SCENE)
        with vg.Scene.load(Path(folder) / "scene.toml") as scene:
            for view in range(VIEWS):
                position = eye(view)
                scene.camera(position=position.tolist(), target=[0.0, 0.0, 0.0], fov=FIELD)
                pixels, depth = scene.render(SIZE), scene.depth(SIZE)
                Image.fromarray(pixels).save(OUTPUT / "images" / f"{view:02}.jpg", quality=91)
                turn = pose(position)
                values = " ".join(f"{one:.9g}" for one in (*quaternion(turn), *(-turn @ position)))
                images += [f"{view + 1} {values} 1 {view:02}.jpg", ""]
                rows, columns = np.nonzero(np.isfinite(depth))
                for at in random.choice(len(rows), POINTS, replace=False):
                    x, y, z = columns[at] + 0.5, rows[at] + 0.5, depth[rows[at], columns[at]]
                    seen = np.array([(x - 0.5 * width) / focal, (y - 0.5 * height) / focal, 1.0]) * z
                    place = " ".join(f"{one:.6g}" for one in turn.T @ seen + position)
                    color = " ".join(str(one) for one in pixels[rows[at], columns[at]])
                    points.append(f"{len(points) + 1} {place} {color} 0.1")
    camera = f"1 PINHOLE {width} {height} {focal:.9g} {focal:.9g} {0.5 * width} {0.5 * height}"
    for name, lines in {"cameras": [camera], "images": images, "points3D": points}.items():
        (OUTPUT / "sparse" / f"{name}.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
