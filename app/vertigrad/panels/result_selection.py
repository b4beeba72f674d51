"""`ResultSelection`: the results that the Results panel shows, and which runs the user chose."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..results import Definition, Results, Run
from ..results.arrangement import Arrangement, arranged

MOST_AXES = 8  # of parallel coordinates


class Axis(NamedTuple):
    """A column as numbers: `values`, float64, NaN where there is none; `labels` of values that are texts."""

    name: str
    values: np.ndarray
    labels: tuple[str, ...] = ()


class ResultSelection:
    """`chosen` are the keys of one or two runs, `metric` the outcome that colors them; `order` sorts the table."""

    def __init__(self, folder: Path, definition: Definition, results: Results, before: ResultSelection | None = None):
        self.folder, self.definition, self.results = folder, definition, results
        self.chosen: list[str] = [] if before is None else before.chosen
        self.order: tuple[str, bool] = ("", False) if before is None else before.order  # column, descending
        outcomes = results.outcomes
        self.metric = definition.metric or (outcomes[0] if outcomes else "")
        if before is not None and before.metric in outcomes:
            self.metric = before.metric

    def choose(self, number: int, compared: bool) -> None:
        """Choose a run, alone or next to the one that was chosen last."""
        key = self.results[number].key
        if compared and self.chosen:
            self.chosen = [self.chosen[0]] if key == self.chosen[0] else [self.chosen[0], key]
        else:
            self.chosen = [key]

    @property
    def runs(self) -> list[Run]:
        """The chosen runs, in the order in which they were chosen."""
        by_key = {run.key: run for run in self.results}
        return [by_key[key] for key in self.chosen if key in by_key]

    @cached_property
    def arrangement(self) -> Arrangement:
        """The cells of the contact sheet."""
        return arranged(self.results.runs, self.results.parameters)

    @cached_property
    def axes(self) -> list[Axis]:
        """The parameters and outcomes whose values differ, at most `MOST_AXES`."""
        names = [*self.results.parameters, *self.results.outcomes]
        found = [axis for name in names if (axis := self._axis(name)) is not None]
        return found[:MOST_AXES]

    def shares(self) -> np.ndarray:
        """The metric of each run from 0 to 1; NaN where there is none."""
        if not self.metric or self.metric not in self.results.outcomes:
            return np.full(len(self.results), np.nan)
        return scaled(self.results[self.metric])

    def sorted_numbers(self) -> list[int]:
        """The numbers of the runs in the order of the table."""
        name, descending = self.order
        numbers = list(range(len(self.results)))
        if name not in self.results.columns:
            return numbers
        column = self.results[name].tolist()
        numbers.sort(key=lambda number: _sort_key(column[number]), reverse=descending)
        return numbers

    def _axis(self, name: str) -> Axis | None:
        column = self.results[name]
        labels: tuple[str, ...] = ()
        if column.dtype.kind not in "if":
            labels = tuple(dict.fromkeys(map(str, column)))
            column = np.array([labels.index(str(value)) for value in column], float)
        values = column.astype(float)
        finite = values[np.isfinite(values)]
        return Axis(name, values, labels) if finite.size and np.ptp(finite) > 0 else None


def scaled(values: np.ndarray) -> np.ndarray:
    """Values from 0, the smallest, to 1, the largest; NaN where there is none."""
    finite = np.isfinite(values)
    if not finite.any():
        return np.full(len(values), np.nan)
    low, high = values[finite].min(), values[finite].max()
    return np.where(finite, (values - low) / (high - low or 1.0), np.nan)


def _sort_key(value: object) -> tuple[int, float, str]:
    if isinstance(value, int | float):
        return (1, 0.0, "") if value != value else (0, float(value), "")
    return 2, 0.0, str(value)
