"""`PointTable`: points as columns of numbers, read in pieces; `Roles`: which of them are coordinates and colors."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np

from ....errors import InputError

PIECE = 1 << 18  # rows that are read at a time
MOST_POINTS = 1 << 28
AXES = (("x", "y", "z"), ("position_x", "position_y", "position_z"))
COLORS = (("red", "green", "blue"), ("diffuse_red", "diffuse_green", "diffuse_blue"), ("r", "g", "b"))
NORMALS = (("nx", "ny", "nz"), ("normal_x", "normal_y", "normal_z"), ("normalx", "normaly", "normalz"))
CLASSES = ("classification", "class", "label", "scalar_classification")

Piece = Mapping[str, np.ndarray]


class PointTable(ABC):
    """The points of one file. `columns` are the types of its scalar columns by name, `count` its rows as it says."""

    def __init__(self, path: Path):
        self.path = path
        self.count = 0
        self.columns: dict[str, np.dtype] = {}

    @abstractmethod
    def pieces(self, names: Sequence[str]) -> Iterator[Piece]:
        """These columns, `PIECE` rows or fewer at a time, in the order of the file.

        Nothing is allocated for rows that the file does not have. Raises `InputError`.
        """

    def require_count(self) -> None:
        """Raise `InputError` for a file without points, or with more than `MOST_POINTS`."""
        if not 0 < self.count <= MOST_POINTS:
            what = f"has {self.count:,} points; at most {MOST_POINTS:,} can be read" if self.count else "has no points"
            raise InputError(f"{self.path}: {what}")


class Roles(NamedTuple):
    """The names of the columns that are coordinates, colors and normals; the latter two empty if there are none."""

    axes: tuple[str, ...]
    colors: tuple[str, ...]
    normals: tuple[str, ...]
    scalars: tuple[str, ...]

    @staticmethod
    def of(table: PointTable) -> Roles:
        """Those of a table, by the usual names in upper or lower case. Raises `InputError` if it has no coordinates."""
        axes, colors, normals = (_found(table.columns, names) for names in (AXES, COLORS, NORMALS))
        if not axes:
            there = ", ".join(table.columns) or "none"
            raise InputError(f"{table.path}: points need columns x, y and z of numbers; the file has {there}")
        taken = {*axes, *colors, *normals}
        return Roles(axes, colors, normals, tuple(name for name in table.columns if name not in taken))


def _found(columns: Collection[str], alternatives: Sequence[Sequence[str]]) -> tuple[str, ...]:
    by_name = {name.casefold(): name for name in reversed(list(columns))}
    return next((tuple(by_name[n] for n in names) for names in alternatives if set(names) <= by_name.keys()), ())


def is_number(dtype: np.dtype) -> bool:
    """Whether the elements of a column can be drawn."""
    return dtype.kind in "biuf" and dtype.itemsize <= 8 and not dtype.shape


def needed(path: Path, module: str, extra: str, what: str) -> ModuleType:
    """An optional package. Raises `InputError` that says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise InputError(
            f'{path}: {what} needs the package {package}, which is not installed; pip install "vertigrad[{extra}]"'
        ) from error
