"""Point files: NumPy arrays, and PLY files without triangles."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...errors import InputError
from . import array_file, ply
from .file_cache import cached
from .placement import placed

SUFFIXES = (*array_file.SUFFIXES, ".ply")
POSITION_NAMES = ("position", "positions", "points", "xyz")
COLORS = ("color", "colors", "colour", "colours", "rgb")  # in .npz
CHANNELS = (("red", "green", "blue"), ("diffuse_red", "diffuse_green", "diffuse_blue"), ("r", "g", "b"))  # in .ply


class Points(NamedTuple):
    """`positions` f32 (n, 3); `colors` f32 (n, 3), sRGB from 0 to 1, or None; `dropped` rows were not finite."""

    positions: np.ndarray
    colors: np.ndarray | None
    dropped: int


@cached(2)  # a scene asks for the shapes before it builds the model
def read(path: Path, size: float, up: str) -> Points:
    """The points of a file, their middle at the origin. `size` is their longest edge then; 0: as in the file.

    `up` is the file's upward axis, "y" or "z". Integers as colors, and numbers up to 255, are scaled to 0 to 1.
    Raises `InputError` for a file without a point that can be drawn.
    """
    positions, colors = _of_ply(path) if path.suffix.lower() == ".ply" else _of_numpy(path)
    sound = np.isfinite(positions).all(axis=1)
    if not sound.any():
        raise InputError(f"{path}: no point with a finite position, of {len(positions):,}")
    positions, _ = placed(positions[sound].astype(float), size, up)
    scaled = None if colors is None else np.ascontiguousarray(np.nan_to_num(unit_colors(colors[sound])), np.float32)
    return Points(np.ascontiguousarray(positions, np.float32), scaled, int((~sound).sum()))


def is_points(array: np.ndarray) -> bool:
    """Whether an array is one of points: (n, 3), or (n, 6) with colors."""
    return array.ndim == 2 and array.shape[1] in (3, 6)


def unit_colors(colors: np.ndarray) -> np.ndarray:
    """Colors from 0 to 1: integers by the largest of their type, but 255 for wide types; others up to 255 too."""
    if colors.dtype.kind == "b":
        return colors.astype(np.float32)
    if colors.dtype.kind in "iu":
        most = np.iinfo(colors.dtype).max if colors.dtype.itemsize <= 2 else 255
        return colors.astype(np.float32) / most
    with np.errstate(invalid="ignore"):
        return colors / 255.0 if np.nanmax(colors, initial=0.0) > 1.0 else colors


def _of_numpy(path: Path) -> tuple[np.ndarray, np.ndarray | None]:
    arrays = array_file.arrays(path)
    positions = next((arrays[name] for name in POSITION_NAMES if name in arrays), None)
    colors = next((arrays[name] for name in COLORS if name in arrays), None)
    if positions is None:
        positions = next((array for array in arrays.values() if is_points(array)), None)
    if positions is None or not is_points(positions) or not len(positions):
        shapes = ", ".join(str(array.shape) for array in arrays.values())
        raise InputError(
            f"{path}: points must be an array (n, 3), or (n, 6) with colors; the file has {shapes or 'none'}"
        )
    if colors is None and positions.shape[1] == 6:
        colors = positions[:, 3:]
    if colors is not None and colors.shape[:1] + colors.shape[1:] not in {(len(positions), 3), (len(positions), 4)}:
        raise InputError(f"{path}: expected colors of shape ({len(positions)}, 3), got {colors.shape}")
    return positions[:, :3], None if colors is None else colors[:, :3]


def _of_ply(path: Path) -> tuple[np.ndarray, np.ndarray | None]:
    head = ply.header(path)
    rows, fields = ply.vertices(path, head), head.vertex.fields.keys()
    if not {"x", "y", "z"} <= fields:
        raise InputError(f"{path}: its vertices have no x, y and z")
    names = next((names for names in CHANNELS if set(names) <= fields), None)
    colors = np.stack([rows[name] for name in names], axis=1) if names else None
    return ply.columns(rows, ("x", "y", "z")), colors
