"""`Results`: the runs of a sweep as a table, and the files of tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ..atomic_file import write_file
from ..errors import InputError
from .run import Run

FORMATS = ("csv", "parquet")
MISSING = (
    "Parquet files are written by pyarrow, which is not installed; install it with pip install 'vertigrad[sweep]', or "
    "write a CSV file"
)


class Results(Sequence[Run]):
    """The runs of a sweep in the order of its design; `results["galaxy.energy"]` is a column as an array.

    `parameters` are the names of what was swept. `folder` has the images and videos.
    """

    def __init__(self, folder: Path, parameters: Sequence[str], runs: Sequence[Run]):
        self.folder, self.parameters = folder, tuple(parameters)
        self.runs = tuple(runs)

    def __len__(self) -> int:
        return len(self.runs)

    def __getitem__(self, index: Any) -> Any:
        """A run by its number, or the column of a name. Raises `KeyError` for an unknown one."""
        return self.columns[index] if isinstance(index, str) else self.runs[index]

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The names of the outcomes that are numbers, in the order in which they were first measured."""
        return tuple(dict.fromkeys(name for run in self.runs for name in run.outcomes))

    @property
    def columns(self) -> Mapping[str, np.ndarray]:
        """Every column: key, seed, state, error, parameters, outcomes (NaN where there is none), files, seconds."""
        files = dict.fromkeys(kind for run in self.runs for kind in run.files)
        return {
            "key": _column(run.key for run in self.runs),
            "seed": _column(run.seed for run in self.runs),
            "state": _column(run.state for run in self.runs),
            "error": _column(run.error for run in self.runs),
            **{name: _column(run.values.get(name) for run in self.runs) for name in self.parameters},
            **{name: np.array([run.outcomes.get(name, np.nan) for run in self.runs], float) for name in self.outcomes},
            **{kind: _column(run.files.get(kind, "") for run in self.runs) for kind in files},
            "seconds": np.array([run.seconds for run in self.runs], float),
            "adapter": _column(run.adapter for run in self.runs),
        }

    @property
    def failed(self) -> tuple[Run, ...]:
        """The runs that ended with an error."""
        return tuple(run for run in self.runs if run.state == "failed")

    def best(self, outcome: str, minimize: bool = False) -> Run:
        """The run with the largest value of an outcome, or the smallest. Raises `InputError` if there is none."""
        measured = [run for run in self.runs if run.state == "done" and np.isfinite(run.outcomes.get(outcome, np.nan))]
        if not measured:
            raise InputError(f"no run has a value of {outcome}; there are {', '.join(self.outcomes) or 'no outcomes'}")
        return (min if minimize else max)(measured, key=lambda run: run.outcomes[outcome])

    def write(self, path: Path) -> None:
        """Write the table as .csv or .parquet. Raises `InputError`."""
        kind = path.suffix.lower().removeprefix(".")
        require_format(kind)
        write_file(path, _parquet(self.columns) if kind == "parquet" else _csv(self.columns), make_folder=True)


def require_format(kind: str) -> None:
    """Raise `InputError` if tables are not written in this format here."""
    if kind not in FORMATS:
        raise InputError(f"tables are written as {' or '.join(FORMATS)}, not as {kind or 'a file without suffix'}")
    if kind == "parquet":
        _arrow()


def _arrow() -> Any:
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise InputError(MISSING) from error


def _column(values: Iterator[Any]) -> np.ndarray:
    """Numbers as they are, and anything else as objects."""
    found = list(values)
    if found and all(isinstance(value, int | float) and not isinstance(value, bool) for value in found):
        return np.array(found)
    column = np.empty(len(found), object)
    column[:] = found
    return column


def _csv(columns: Mapping[str, np.ndarray]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    writer.writerows([["" if value is None else value for value in row] for row in rows])
    return text.getvalue().encode()


def _parquet(columns: Mapping[str, np.ndarray]) -> bytes:
    arrow, parquet = _arrow()
    table = arrow.table({name: column.tolist() for name, column in columns.items()})
    file = io.BytesIO()
    parquet.write_table(table, file)
    return file.getvalue()
