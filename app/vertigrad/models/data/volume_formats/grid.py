"""`Grid`: values on a grid, and where they are in space."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ....errors import InputError

MOST_VALUES = 1 << 30


class Grid(NamedTuple):
    """`values` f32 (nz, ny, nx). `affine` (4, 4) maps the indices x, y, z of a value to its position, in `unit`.

    `quantity` is the unit of the values themselves, such as "HU". Both units are empty if the file does not say.
    """

    values: np.ndarray
    affine: np.ndarray
    unit: str = ""
    quantity: str = ""

    @property
    def spacing(self) -> tuple[float, float, float]:
        """Distances from one value to the next along x, y and z."""
        x, y, z = (float(length) for length in np.linalg.norm(self.affine[:3, :3], axis=0))
        return x, y, z


def require_shape(path: Path, shape: tuple[int, ...], itemsize: int, room: float) -> None:
    """Raise `InputError` for a grid that is none, or is larger than `room` bytes."""
    if len(shape) != 3 or min(shape) < 2:
        raise InputError(f"{path}: has the shape {shape}; a volume has three axes, with 2 values or more along each")
    count = int(np.prod([int(size) for size in shape], dtype=object))
    if count > MOST_VALUES:
        raise InputError(f"{path}: has {count:,} values; at most {MOST_VALUES:,} can be read")
    if count * itemsize > room:
        raise InputError(f"{path}: claims {count:,} values of {itemsize} bytes; the file is truncated")


def require_affine(path: Path, affine: np.ndarray) -> np.ndarray:
    """The same. Raises `InputError` if it is not finite, or maps all values into a plane."""
    with np.errstate(all="ignore"):
        lengths = np.linalg.norm(affine[:3, :3], axis=0)
        volume = abs(np.linalg.det(affine[:3, :3] / np.where(lengths > 0, lengths, 1.0)))
    if not np.isfinite(affine).all() or not (lengths > 0).all() or not volume > 1e-3:
        raise InputError(f"{path}: its spacing and directions are not those of a grid: {affine[:3].tolist()}")
    return affine


def upright(values: np.ndarray, affine: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values (x, y, z, as stored) as (nz, ny, nx) with axes swapped and flipped so that they are nearest to space's."""
    cosines = affine[:3, :3] / np.linalg.norm(affine[:3, :3], axis=0)
    left, order = np.abs(cosines), [0, 0, 0]
    for _ in range(3):
        world, axis = np.unravel_index(np.argmax(left), left.shape)
        order[world] = int(axis)
        left[world], left[:, axis] = -1.0, -1.0
    values, affine = values.transpose(order), affine[:, [*order, 3]].copy()
    for axis in range(3):
        if affine[axis, axis] < 0:
            values = np.flip(values, axis)
            affine[:3, 3] += (values.shape[axis] - 1) * affine[:3, axis]
            affine[:3, axis] *= -1
    return values.transpose(2, 1, 0), affine


def as_f32(path: Path, values: np.ndarray, slope: float = 1.0, intercept: float = 0.0) -> np.ndarray:
    """Values as contiguous f32, times `slope` and with `intercept` added. Raises `InputError` for what is no number."""
    if values.dtype.kind not in "biuf":
        raise InputError(f"{path}: contains {values.dtype}; a volume has one real number for each cell")
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.ascontiguousarray(values, np.float32)
        if (slope, intercept) != (1.0, 0.0):
            found = found * np.float32(slope) + np.float32(intercept)
    return found
