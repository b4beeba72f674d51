"""Sparse models of COLMAP as bytes of its text and binary files."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vertigrad.models.data.colmap.cameras import NUMBERED


class Reconstruction(NamedTuple):
    """`cameras`: model, width, height and parameters by number; `images`: quaternion w, x, y, z, translation, camera,
    and name; `points` (n, 3) and `colors` (n, 3), u8.
    """

    cameras: Mapping[int, tuple[str, int, int, Sequence[float]]]
    images: Sequence[tuple[Sequence[float], Sequence[float], int, str]]
    points: np.ndarray
    colors: np.ndarray


def binary_files(model: Reconstruction) -> dict[str, bytes]:
    """The three binary files by name; each image has two marks, and each point a track of two images."""
    names = [name for name, _ in NUMBERED]
    cameras = struct.pack("<Q", len(model.cameras))
    for number, (kind, width, height, values) in model.cameras.items():
        cameras += struct.pack(f"<iiQQ{len(values)}d", number, names.index(kind), width, height, *values)
    images = struct.pack("<Q", len(model.images))
    for number, (quaternion, translation, camera, name) in enumerate(model.images, 1):
        images += struct.pack("<i4d3di", number, *quaternion, *translation, camera) + name.encode() + b"\0"
        images += struct.pack("<Q2dq2dq", 2, 1.0, 2.0, -1, 3.0, 4.0, 1)
    points = struct.pack("<Q", len(model.points))
    for number, (point, color) in enumerate(zip(model.points, model.colors, strict=True), 1):
        points += struct.pack("<Q3d3BdQ4i", number, *point, *color, 0.5, 2, 1, 0, 2, 1)
    return {"cameras.bin": cameras, "images.bin": images, "points3D.bin": points}


def text_files(model: Reconstruction) -> dict[str, bytes]:
    """The three text files by name; every second image has a line without marks."""
    cameras = ["# cameras"]
    for number, (kind, width, height, values) in model.cameras.items():
        cameras.append(" ".join(map(str, (number, kind, width, height, *values))))
    images = ["# images", "# two lines each"]
    for number, (quaternion, translation, camera, name) in enumerate(model.images, 1):
        images.append(" ".join(map(str, (number, *quaternion, *translation, camera, name))))
        images.append("1.0 2.0 -1 3.0 4.0 1" if number % 2 else "")
    points = ["# points"]
    for number, (point, color) in enumerate(zip(model.points, model.colors, strict=True), 1):
        points.append(" ".join(map(str, (number, *point.tolist(), *color.tolist(), 0.5, 1, 0))))
    parts = {"cameras.txt": cameras, "images.txt": images, "points3D.txt": points}
    return {name: ("\n".join(lines) + "\n").encode() for name, lines in parts.items()}


def write(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Write files into a folder, and return that of the cameras."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder / next(name for name in files if name.startswith("cameras"))
