"""Points of NumPy files: an array (n, 3) or (n, 6), a structured array, or arrays of the same length in an .npz."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from ....errors import InputError
from .. import array_file
from .table import PIECE, Piece, PointTable, is_number

POSITION_NAMES = ("position", "positions", "points", "xyz")
COLOR_NAMES = ("color", "colors", "colour", "colours", "rgb")
NORMAL_NAMES = ("normal", "normals")
XYZ, RGB, NORMAL = ("x", "y", "z"), ("red", "green", "blue"), ("nx", "ny", "nz")


class NumpyTable(PointTable):
    """Columns of arrays; an .npy file is mapped into memory."""

    def __init__(self, path: Path):
        super().__init__(path)
        arrays = array_file.arrays(path, mapped=True)
        structured = next((one for one in arrays.values() if one.dtype.names and one.ndim == 1), None)
        if structured is not None:
            self._parts = {name: structured[name] for name in structured.dtype.names or ()}
            self.count = len(structured)
        else:
            positions = self._positions(arrays)
            self.count = len(positions)
            self._parts = {**self._vectors(arrays, positions), **self._scalars(arrays)}
        self.columns = {name: part.dtype for name, part in self._parts.items() if is_number(part.dtype)}

    def pieces(self, names: Sequence[str]) -> Iterator[Piece]:
        for first in range(0, self.count, PIECE):
            yield {name: self._parts[name][first : first + PIECE] for name in names}

    def _positions(self, arrays: dict[str, np.ndarray]) -> np.ndarray:
        found = next((arrays[name] for name in POSITION_NAMES if name in arrays), None)
        if found is None:
            found = next((array for array in arrays.values() if is_points(array)), None)
        if found is None or not is_points(found) or not len(found):
            shapes = ", ".join(str(array.shape) for array in arrays.values())
            raise InputError(
                f"{self.path}: points must be an array (n, 3), or (n, 6) with colors; the file has {shapes or 'none'}"
            )
        return found

    def _vectors(self, arrays: dict[str, np.ndarray], positions: np.ndarray) -> dict[str, np.ndarray]:
        count = len(positions)
        parts = dict(zip(XYZ, positions.T[:3], strict=True))
        colors = next((arrays[name] for name in COLOR_NAMES if name in arrays), None)
        if colors is None and positions.shape[1] == 6:
            colors = positions[:, 3:]
        if colors is not None:
            if colors.shape not in {(count, 3), (count, 4)}:
                raise InputError(f"{self.path}: expected colors of shape ({count}, 3), got {colors.shape}")
            parts |= dict(zip(RGB, colors.T[:3], strict=True))
        normals = next((arrays[name] for name in NORMAL_NAMES if name in arrays), None)
        if normals is not None and normals.shape == (count, 3):
            parts |= dict(zip(NORMAL, normals.T, strict=True))
        return parts

    def _scalars(self, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: one for name, one in arrays.items() if name and one.shape == (self.count,)}


def is_points(array: np.ndarray) -> bool:
    """Whether an array is one of points: (n, 3), or (n, 6) with colors, or structured with x, y and z."""
    if array.dtype.names:
        return array.ndim == 1 and set(XYZ) <= {name.casefold() for name in array.dtype.names}
    return array.ndim == 2 and array.shape[1] in (3, 6)
