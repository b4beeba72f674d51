"""Volumes of NumPy files: an array (nz, ny, nx), without a place in space."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .. import array_file
from .grid import Grid, as_f32, require_shape


def read(path: Path, frame: int = 0) -> Grid:
    """The largest array of a file, or one of several along its first axis, of four. Raises `InputError`."""
    array = max(array_file.arrays(path, mapped=True).values(), key=lambda one: one.size)
    array = array[min(frame, len(array) - 1)] if array.ndim == 4 and len(array) else array
    require_shape(path, array.shape, 1, np.inf)
    return Grid(as_f32(path, array), np.eye(4))
