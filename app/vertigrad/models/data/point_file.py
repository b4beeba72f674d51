"""Files of points, read whole: centered in float64, and colored by any of their columns. `point_formats` reads them."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...errors import InputError
from ...params import unknown
from ...progress import report
from .file_cache import cached
from .placement import AXES_BY_UP
from .point_formats import SUFFIXES, PointTable, Roles, open_table
from .point_formats.table import CLASSES

__all__ = ["SUFFIXES", "Points", "choices", "is_colored", "read"]

AUTO, COLORS, NORMALS, HEIGHT = "auto", "colors", "normals", "height"
FARTHEST = 1e30  # a coordinate beyond this is none: its square is not finite in float32
GOLDEN = 0.6180339887498949

_log = logging.getLogger("vertigrad")


class Points(NamedTuple):
    """Points as they are in the scene; `dropped` rows of the file had no finite position.

    `positions` f32 (n, 3). `colors` f32, sRGB (n, 3) from 0 to 1, or scalars (n,). `normals` f32 (n, 3) of length 1, or
    None. A point is at `center` + the inverse of `turn` applied to position / `factor` in the file's coordinates.
    """

    positions: np.ndarray
    colors: np.ndarray
    normals: np.ndarray | None
    dropped: int
    center: tuple[float, float, float]
    factor: float


@cached(2)  # a scene asks for the shapes before it builds the model
def read(path: Path, size: float, up: str, color: str = AUTO) -> Points:
    """The points of a file, their middle at the origin. `size` is their longest edge then; 0: as in the file.

    `up` is the file's upward axis, "y" or "z"; `color` one of `choices`. Integers as colors, and numbers up to 255, are
    scaled to 0 to 1. Raises `InputError` for a file without a point that can be drawn.
    """
    table = open_table(path)
    table.require_count()
    roles = Roles.of(table)
    by = required(path, roles, color)
    shades = roles.colors if by == COLORS else () if by in (NORMALS, HEIGHT) else (by,)
    gathered = _gathered(table, roles, shades)
    positions, center, factor = _placed(gathered.positions, gathered.origin, gathered.low, gathered.high, size)
    turn = AXES_BY_UP[up].astype(np.float32)
    positions, normals = positions @ turn.T, gathered.normals
    normals = None if normals is None else normals @ turn.T
    if by == HEIGHT:
        colors = np.ascontiguousarray(positions[:, 1])
    elif by == NORMALS:
        assert normals is not None
        colors = 0.5 + 0.5 * normals
    else:
        colors = _shaded(path, by, gathered.shades)
    return Points(positions, colors, normals, gathered.dropped, center, factor)


def count(path: Path) -> int:
    """How many points a file says it has. Raises `InputError`."""
    return open_table(path).count


def choices(path: Path) -> tuple[str, ...]:
    """By what points of a file can be colored. Raises `InputError`."""
    return _choices(Roles.of(open_table(path)))


def is_colored(path: Path) -> bool:
    """Whether a file has more than positions. Raises `InputError`."""
    return len(choices(path)) > 2


def _choices(roles: Roles) -> tuple[str, ...]:
    own = [COLORS] * bool(roles.colors) + [NORMALS] * bool(roles.normals)
    return (AUTO, HEIGHT, *own, *(name for name in roles.scalars if name not in (AUTO, HEIGHT, *own)))


def required(path: Path, roles: Roles, color: str) -> str:
    """By what a file is colored, for a `color` that may be "auto". Raises `InputError`."""
    if color not in _choices(roles):
        raise InputError(f"{path}: color: {unknown('column', color, _choices(roles))}")
    return (COLORS if roles.colors else HEIGHT) if color == AUTO else color


class _Gathered(NamedTuple):
    """What all pieces had: positions f32 relative to `origin`, their bounds in float64, and the columns of colors."""

    positions: np.ndarray
    normals: np.ndarray | None
    shades: np.ndarray
    origin: np.ndarray
    low: np.ndarray
    high: np.ndarray
    dropped: int


def _gathered(table: PointTable, roles: Roles, shades: Sequence[str]) -> _Gathered:
    positions, normals, colors = [], [], []
    origin, low, high = None, np.full(3, np.inf), np.full(3, -np.inf)
    read = dropped = 0
    for piece in table.pieces(tuple(dict.fromkeys((*roles.axes, *roles.normals, *shades)))):
        xyz = stacked(piece, roles.axes, np.float64)
        read += len(xyz)
        report(f"reading {table.path.name}", read, max(table.count, read))
        with np.errstate(invalid="ignore"):
            sound = (np.abs(xyz) < FARTHEST).all(axis=1)
        finite_rows = slice(None) if sound.all() else sound
        dropped, xyz = dropped + len(xyz) - len(xyz[finite_rows]), xyz[finite_rows]
        if not len(xyz):
            continue
        origin = xyz[0].copy() if origin is None else origin
        low, high = np.minimum(low, xyz.min(axis=0)), np.maximum(high, xyz.max(axis=0))
        positions.append((xyz - origin).astype(np.float32))
        if roles.normals:
            normals.append(unit(stacked(piece, roles.normals, np.float32)[finite_rows]))
        if shades:
            colors.append(stacked(piece, shades, None)[finite_rows])
    if origin is None:
        raise InputError(f"{table.path}: no point with a finite position, of {read:,}")
    return _Gathered(
        np.concatenate(positions),
        np.concatenate(normals) if normals else None,
        np.concatenate(colors) if colors else np.empty((0, 0)),
        *(origin, low, high, dropped),
    )


def stacked(piece: Mapping[str, np.ndarray], names: Sequence[str], dtype: type | None) -> np.ndarray:
    """Columns side by side, of this type or the one that holds them all."""
    columns = [piece[name] for name in names]
    found = np.empty((len(columns[0]), len(columns)), dtype or np.result_type(*columns))
    with np.errstate(over="ignore", invalid="ignore"):
        for number, column in enumerate(columns):
            found[:, number] = column
    return found


def _placed(
    positions: np.ndarray, origin: np.ndarray, low: np.ndarray, high: np.ndarray, size: float
) -> tuple[np.ndarray, tuple[float, float, float], float]:
    """Positions about their middle, which is found in float64, and scaled."""
    middle = 0.5 * (low + high)
    factor = size / max(float((high - low).max()), 1e-30) if size else 1.0
    positions += (origin - middle).astype(np.float32)
    positions *= np.float32(factor)
    x, y, z = (float(part) for part in middle)
    return positions, (x, y, z), factor


def unit(normals: np.ndarray) -> np.ndarray:
    """Vectors of length 1; those that have none are 0."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return np.nan_to_num(normals / np.linalg.norm(normals, axis=1, keepdims=True), posinf=0.0, neginf=0.0)


def _shaded(path: Path, by: str, values: np.ndarray) -> np.ndarray:
    if by == COLORS:
        return np.clip(np.nan_to_num(unit_colors(values)), 0.0, 1.0).astype(np.float32)
    column = values[:, 0]
    return class_colors(column) if is_classes(by, column.dtype) else scalars(path, by, column)


def is_classes(name: str, dtype: np.dtype) -> bool:
    """Whether a column has classes, each of which has a color of its own."""
    return name.casefold() in CLASSES and dtype.kind in "iub"


def class_colors(classes: np.ndarray) -> np.ndarray:
    """A color for each class, sRGB (n, 3): neighbors differ in hue by the golden ratio; class 0 is gray."""
    number = classes.astype(np.int64) % 256
    hue = (np.arange(256) * GOLDEN + 0.58) % 1.0
    ramp = np.clip(np.abs((hue[:, None] * 6.0 + np.array([0.0, 4.0, 2.0])) % 6.0 - 3.0) - 1.0, 0.0, 1.0)
    palette = (0.35 + 0.55 * ramp).astype(np.float32)
    palette[0] = 0.55
    return palette[number]


def scalars(path: Path, name: str, column: np.ndarray, ends: tuple[float, float] | None = None) -> np.ndarray:
    """A column as f32 (n,); what is not finite has the lowest value. Counted from its start if f32 is too coarse.

    `ends` are the lowest and the highest value, if the column is only a part.
    """
    values = column.astype(np.float64)
    finite = values[np.isfinite(values)]
    low, high = ends or ((float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0))
    if high > low and max(abs(low), abs(high)) * 2.0**-24 > 1e-4 * (high - low):
        _log.warning("%s: %s is shown as its difference to %.17g, where float32 is too coarse", path, name, low)
        values, low, high = values - low, 0.0, high - low
    return np.clip(np.nan_to_num(values, nan=low, posinf=high, neginf=low), -3e38, 3e38).astype(np.float32)


def unit_colors(colors: np.ndarray, most: float | None = None) -> np.ndarray:
    """Colors from 0 to 1, f32: integers by the largest of their type, but 255 for wide types; others up to 255 too.

    `most` is the largest value, if these are only a part. Many LAS files have numbers up to 255 in 16 bits.
    """
    if colors.dtype.kind == "b":
        return colors.astype(np.float32)
    if colors.dtype.kind in "iu":
        largest = colors.max(initial=0) if most is None else most
        wide = colors.dtype.itemsize > 2 or (colors.dtype.itemsize == 2 and largest <= 255)
        return colors.astype(np.float32) / np.float32(255 if wide else np.iinfo(colors.dtype).max)
    with np.errstate(invalid="ignore"):
        return colors / 255.0 if (np.nanmax(colors, initial=0.0) if most is None else most) > 1.0 else colors
