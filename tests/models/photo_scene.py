"""A scene with known truth: splats drawn by the NumPy reference, as photos with a sparse model of COLMAP."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from vertigrad.models.reference import splat_photos as reference

from .colmap_files import Reconstruction, binary_files, write

FOCAL, DISTANCE = 1.2, 4.0  # over the side of an image; of the cameras from the origin


def truth(count: int, seed: int = 5) -> dict[str, np.ndarray]:
    """Colored splats in a ball around the origin, y down, of rather different shapes."""
    random = np.random.default_rng(seed)
    position = random.normal(size=(count, 3))
    position *= random.uniform(0.2, 1.0, (count, 1)) / np.linalg.norm(position, axis=1, keepdims=True)
    return {
        "position": position,
        "scale": np.log(random.uniform(0.08, 0.3, (count, 3))),
        "rotation": random.normal(size=(count, 4)),
        "opacity": random.normal(2.0, 1.0, count),
        "color": random.normal(0.0, 1.4, (count, 3)),
    }


def poses(views: int) -> np.ndarray:
    """Cameras (views, 4, 4) around the origin and directed at it, in image sides; y points down in the world."""
    rows = np.zeros((views, 4, 4))
    for number in range(views):
        height, angle = 0.7 * np.cos(2.4 * number), 2.0 * np.pi * (number + 0.37) / views
        forward = -np.array([np.cos(angle), height, np.sin(angle)]) / np.hypot(1.0, height)
        right = np.cross([0.0, 1.0, 0.0], forward)
        right /= np.linalg.norm(right)
        rows[number, :3, :3] = right, np.cross(forward, right), forward
        rows[number, 2, 3] = DISTANCE
        rows[number, 3] = FOCAL, FOCAL, 0.5, 0.5
    return rows


def write_scene(folder: Path, count: int, views: int, side: int, points: int = 0, seed: int = 5) -> Path:
    """Write photos and a sparse model; return its file of cameras. Its points are near those of the splats."""
    splats, random = truth(count, seed), np.random.default_rng(seed)
    (folder / "images").mkdir(parents=True)
    images = []
    for number, rows in enumerate(poses(views)):
        camera = np.concatenate([rows[:3], side * rows[3:]])
        pixels = reference.image(splats, reference.Eye(camera, side, side, 0.1, np.zeros(3)), 0)
        name = f"{number:03}.png"
        Image.fromarray(np.uint8(np.round(255.0 * np.clip(pixels, 0.0, 1.0)))).save(folder / "images" / name)
        images.append((quaternion(rows[:3, :3]), rows[:3, 3], 1, name))
    chosen = random.integers(count, size=points or count)
    positions = splats["position"][chosen] + random.normal(0.0, 0.05, (len(chosen), 3))
    colors = np.uint8(np.clip(255.0 * (0.5 + 0.28209 * splats["color"][chosen]), 0.0, 255.0))
    cameras = {1: ("PINHOLE", side, side, (FOCAL * side, FOCAL * side, 0.5 * side, 0.5 * side))}
    return write(folder / "sparse" / "0", binary_files(Reconstruction(cameras, images, positions, colors)))


def quaternion(turn: np.ndarray) -> tuple[float, ...]:
    """w, x, y, z of a rotation matrix."""
    w = 0.5 * np.sqrt(max(1.0 + np.trace(turn), 1e-12))
    x, y, z = turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]
    found = np.array([w, x / (4 * w), y / (4 * w), z / (4 * w)])
    if w < 1e-3:
        raise ValueError("a rotation by half a turn")
    return tuple(found / np.linalg.norm(found))
