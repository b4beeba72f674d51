"""`Shades`: colors of single rows of a large file of points, from a file of that column alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...progress import report
from .file_cache import cached
from .placement import AXES_BY_UP
from .point_file import COLORS, HEIGHT, NORMALS, class_colors, is_classes, required, scalars, stacked, unit, unit_colors
from .point_formats import Roles, open_table
from .point_levels import levels


class Shades:
    """What the output color has for some rows: sRGB, or scalars. `shape` is () for scalars, (3,) for sRGB."""

    def __init__(self, by: str, values: np.ndarray | None, is_color: bool):
        self._by, self._values = by, values
        self.shape = (3,) if is_color else ()

    def of(self, rows: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """The colors of rows of the file, whose positions in the scene these are."""
        if self._values is None:
            return positions[:, 1]
        values = self._values[rows]
        if self._by == NORMALS:
            return 0.5 + 0.5 * values
        return class_colors(values) if self.shape and values.ndim == 1 else values


@cached(2)
def shades(path: Path, color: str, up: str) -> Shades:
    """The colors of a file of points. Raises `InputError`."""
    table, folder = open_table(path), Path(levels(path).folder.name)
    roles = Roles.of(table)
    by = required(path, roles, color)
    if by == HEIGHT:
        return Shades(by, None, False)
    names = {COLORS: roles.colors, NORMALS: roles.normals}.get(by, (by,))
    classes = by not in (COLORS, NORMALS) and is_classes(by, table.columns[by])
    dtype = np.dtype(np.uint8) if classes else np.dtype(np.float32)
    file = folder / f"shade {abs(hash((by, up))):x}"
    read = 0
    most, low = _extremes(path, names) if by not in (NORMALS,) and not classes else (1.0, 0.0)
    with file.open("wb") as written:
        for piece in table.pieces(names):
            values = stacked(piece, names, None)
            read += len(values)
            report(f"reading colors of {path.name}", read, max(table.count, read))
            if by == COLORS:
                values = np.clip(np.nan_to_num(unit_colors(values, most)), 0.0, 1.0)
            elif by == NORMALS:
                values = unit(values.astype(np.float32)) @ AXES_BY_UP[up].T
            elif not classes:
                values = scalars(path, by, values[:, 0], (low, most))
            written.write(np.ascontiguousarray(values.reshape(len(values), -1), dtype).tobytes())
    shape = (-1, 3) if len(names) == 3 else (-1,)
    return Shades(by, np.memmap(file, dtype, "r").reshape(shape), classes or len(names) == 3)


def _extremes(path: Path, names: tuple[str, ...]) -> tuple[float, float]:
    """The largest and the smallest finite value of columns."""
    most, least = -np.inf, np.inf
    for piece in open_table(path).pieces(names):
        for name in names:
            finite = piece[name][np.isfinite(piece[name])]
            if len(finite):
                most, least = max(most, float(finite.max())), min(least, float(finite.min()))
    return (most, least) if np.isfinite(most) else (0.0, 0.0)
