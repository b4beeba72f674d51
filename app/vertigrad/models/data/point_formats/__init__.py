"""Files of points, read in pieces: what each format has, as a table of columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from ....errors import InputError
from . import arrow_table, las_table, numpy_table, ply_table
from .table import PointTable, Roles

__all__ = ["SUFFIXES", "PointTable", "Roles", "open_table"]

_OPENERS: Mapping[str, Callable[[Path], PointTable]] = {
    ".npy": numpy_table.NumpyTable,
    ".npz": numpy_table.NumpyTable,
    ".ply": ply_table.PlyTable,
    ".las": las_table.LasTable,
    ".laz": las_table.LasTable,
    ".csv": arrow_table.CsvTable,
    ".parquet": arrow_table.ParquetTable,
}
SUFFIXES = tuple(_OPENERS)


def open_table(path: Path) -> PointTable:
    """The points of a file, of which only the header is read. Raises `InputError`."""
    opener = _OPENERS.get(path.suffix.lower())
    if opener is None:
        raise InputError(f"{path}: not a file of points; known are {', '.join(SUFFIXES)}")
    return opener(path)
