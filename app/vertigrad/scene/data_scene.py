"""Scenes for files of data by themselves: pictures, arrays of NumPy, and Gaussian splats."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from ..errors import InputError

HEAD = """version = 1
title = {title}

[camera]
position = {position}
target = [0.0, 0.0, 0.0]
fov = 36
fit = true

[models.data]
type = "{model}"
file = {name}
"""
SPLATS = """
[layers.splats]
type = "splats"
position = "data.position"
scale = "data.scale"
rotation = "data.rotation"
opacity = "data.opacity"
color = "data.color"

[view]
background = "#14161b"
"""
PICTURE = """
[layers.picture]
type = "image"
pixels = "data.{output}"

[view]
background = "#16181d"
bloom = 0.0
vignette = 0.0
"""
VOLUME = """
[layers.volume]
type = "volume"
density = "data.values"
color = "data.values"
extinction = 12.0
emissive = 0.5

[view]
background = "#14161b"
"""
POINTS = """
[layers.points]
type = "points"
position = "data.position"
color = "#c9d0da"
size = {size}

[view]
background = "#16181d"
"""
COLORED = """
[layers.points]
type = "marks"
position = "data.position"
color = "data.color"
size = {size}

[view]
background = "#16181d"
"""
VECTORS = """
[layers.lines]
type = "streamlines"
vectors = "data.values"
count = 400
width = 0.012
length = 0.8

[view]
background = "#171c26"
"""
SLANTED, FACING = "[1.9, 1.4, 3.2]", "[0.0, 0.0, 4.0]"


def picture_text(path: Path, model: str) -> str:
    """The scene file for an image or a video, as `model` is called that reads it: it stands and faces the eye."""
    return _head(path, model, FACING) + PICTURE.format(output="pixels")


def splats_text(path: Path) -> str:
    """The scene file for a PLY of splats, seen whole."""
    return _head(path, "splats", SLANTED) + SPLATS


def points_text(path: Path) -> str:
    """The scene file for points: lit balls, or discs of their own colors. Raises `InputError`."""
    from ..models.data import point_file

    points = point_file.read(path, 2.0, "y")
    size = round(min(max(1.0 / len(points.positions) ** 0.5, 0.002), 0.05), 4)
    drawn = POINTS if points.colors is None else COLORED
    return _head(path, "point_cloud", SLANTED) + drawn.format(size=size)


def array_text(path: Path) -> str:
    """The scene file for an array: points, a volume, a picture or a field of vectors, by its shape.

    Raises `InputError` if it is neither, or cannot be read.
    """
    from ..models.data import array_file, point_file

    found = array_file.arrays(path)
    named = len(found) == 1 or found.keys() & set(point_file.POSITION_NAMES)
    if named and any(point_file.is_points(one) for one in found.values()):
        return points_text(path)
    array = array_file.read(path)
    drawn = _drawn(path, array)
    return _head(path, "array", FACING if drawn == PICTURE else SLANTED) + drawn.format(output="values")


def _drawn(path: Path, array: np.ndarray) -> str:
    shape = array.shape
    if len(shape) == 2 or (len(shape) == 3 and shape[2] in (3, 4)):
        return PICTURE
    if len(shape) == 3 and min(shape) >= 2:
        return VOLUME
    if len(shape) == 4 and shape[3] == 3 and min(shape[:3]) >= 2:
        return VECTORS
    raise InputError(
        f"{path}: its array has the shape {shape}; drawn by themselves are points (n, 3) or with colors (n, 6), "
        "pictures (rows, columns) or with 3 or 4 channels, volumes (nz, ny, nx), and fields of vectors "
        "(nz, ny, nx, 3): write a scene for others"
    )


def _head(path: Path, model: str, position: str) -> str:
    name, title = (json.dumps(words, ensure_ascii=False) for words in (path.name, path.stem))
    return HEAD.format(title=title, position=position, model=model, name=name)
