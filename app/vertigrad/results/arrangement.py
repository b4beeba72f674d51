"""`arranged`: the cells of a contact sheet, by the values of the swept parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .run import Run


@dataclass(frozen=True)
class Arrangement:
    """Which run is in which cell: `cells` has the run's number by (row, column).

    In a grid, `columns` and `rows` are the labels of its columns and rows, and `axes` the names of the parameters that
    change along a row and along a column. Otherwise they are empty.
    """

    shape: tuple[int, int]  # rows, columns
    cells: dict[tuple[int, int], int]
    columns: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    axes: tuple[str, str] = ("", "")


def arranged(runs: Sequence[Run], parameters: Sequence[str]) -> Arrangement:
    """A grid if the runs are one, of one or more parameters; else cells sorted by the first two parameters.

    In a grid the first parameter changes from column to column, the second from row to row, the third from one group
    of columns to the next, and so on.
    """
    return _grid(runs, parameters) or _sorted(runs, parameters)


def text(value: Any) -> str:
    """A value of a parameter as a label."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _grid(runs: Sequence[Run], parameters: Sequence[str]) -> Arrangement | None:
    levels = {name: _levels(run.values.get(name) for run in runs) for name in parameters}
    across, down = tuple(parameters[::2]), tuple(parameters[1::2])
    size = math.prod(map(len, levels.values()))
    if not runs or not parameters or size != len(runs):  # several seeds, or a sample
        return None
    cells = {}
    for number, run in enumerate(runs):
        cells[_index(run, down, levels), _index(run, across, levels)] = number
    if len(cells) != len(runs):
        return None
    shape = math.prod(len(levels[name]) for name in down), math.prod(len(levels[name]) for name in across)
    if shape[0] == 1 and shape[1] > 8:  # one parameter: broken into lines, as text is
        return None
    return Arrangement(shape, cells, _labels(across, levels), _labels(down, levels), (_named(across), _named(down)))


def _levels(values: Any) -> list[Any]:
    found = list(dict.fromkeys(_hashable(value) for value in values))
    return sorted(found) if all(isinstance(value, int | float) for value in found) else found


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _index(run: Run, names: Sequence[str], levels: dict[str, list[Any]]) -> int:
    """The number of the combination of values; the first of `names` changes fastest."""
    index = 0
    for name in reversed(names):
        index = index * len(levels[name]) + levels[name].index(_hashable(run.values.get(name)))
    return index


def _labels(names: Sequence[str], levels: dict[str, list[Any]]) -> tuple[str, ...]:
    labels = [""]
    for name in names:
        labels = [f"{before} / {text(value)}" if before else text(value) for value in levels[name] for before in labels]
    return tuple(labels)


def _named(names: Sequence[str]) -> str:
    return " / ".join(names)


def _sorted(runs: Sequence[Run], parameters: Sequence[str]) -> Arrangement:
    """About square: the first parameter rises from column to column, the second within each column from row to row."""
    columns = max(1, math.ceil(math.sqrt(len(runs))))
    rows = max(1, math.ceil(len(runs) / columns))
    order = list(range(len(runs)))
    if len(parameters) < 2:
        order.sort(key=lambda number: _rank(runs[number], parameters[:1]))
        return Arrangement((rows, columns), {divmod(at, columns): number for at, number in enumerate(order)})
    order.sort(key=lambda number: _rank(runs[number], parameters[:1]))
    cells = {}
    for column in range(columns):
        part = sorted(
            order[column * rows : (column + 1) * rows], key=lambda number: _rank(runs[number], parameters[1:2])
        )
        cells |= {(row, column): number for row, number in enumerate(part)}
    return Arrangement((rows, columns), cells)


def _rank(run: Run, names: Sequence[str]) -> tuple[Any, ...]:
    """Sort key of a run by its values; numbers first, in their order."""
    values = [run.values.get(name) for name in names]
    return tuple((0, value, "") if isinstance(value, int | float) else (1, 0, str(value)) for value in values)
