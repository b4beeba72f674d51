"""Diagnostics and watches as a table, and the bytes of CSV and NPZ files of tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, ParameterError
from ..gpu import Traffic
from ..ops.summary import Summary, summarize
from ..params import unknown
from . import catalog
from .watches import STATISTICS, Watch

if TYPE_CHECKING:
    from .session import Session

SUFFIXES = (".csv", ".npz")


def is_table(path: Path) -> bool:
    """Whether a file of this suffix is a table."""
    return path.suffix.lower() in SUFFIXES


def require_table(path: Path) -> None:
    """Raise `InputError` if a table is not written to files of this suffix."""
    kind = path.suffix.lower()
    if not is_table(path):
        raise InputError(f"{path}: measurements are written as {' or '.join(SUFFIXES)}, not as {kind or 'no suffix'}")


def table(session: Session) -> dict[str, np.ndarray]:
    """The stored values of all diagnostics and watches: "time" [s], rising, and a column of float64 for each.

    Values that were not measured at a time are masked. Raises `InputError` if nothing was measured.
    """
    histories = {name: series for name, series in session.diagnostics.history.items() if len(series)}
    histories |= {watch.label: series for watch, series in session.watches.history.items() if len(series)}
    if not histories:
        raise InputError("nothing was measured yet: no model has diagnostics that were read, and nothing is watched")
    times = np.unique(np.concatenate([series.times.values for series in histories.values()]))
    columns = {"time": times}
    for name, series in histories.items():
        columns[name] = np.ma.masked_all(len(times))
        columns[name][np.searchsorted(times, series.times.values)] = series.values.values
    return columns


def packed(path: Path, columns: Mapping[str, np.ndarray]) -> bytes:
    """The bytes of a table, by the suffix of its file. Raises `InputError`.

    What is masked is an empty field in CSV, and NaN in NPZ.
    """
    require_table(path)
    if path.suffix.lower() == ".npz":
        file = io.BytesIO()
        arrays: dict[str, Any] = {name: np.ma.filled(column, np.nan) for name, column in columns.items()}
        np.savez_compressed(file, **arrays)
        return file.getvalue()
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    lists = [np.ma.MaskedArray(column).tolist() for column in columns.values()]
    writer.writerows([field(value) for value in row] for row in zip(*lists, strict=True))
    return text.getvalue().encode()


def field(value: float | None) -> str:
    """A number as a field of CSV, exactly; empty for None."""
    return "" if value is None else repr(value)


def parse_watch(text: str) -> Watch:
    """`galaxy.position:max` as a watch; the mean if no statistic is named. Raises `ParameterError`."""
    tensor, colon, statistic = text.rpartition(":")
    if not colon:
        tensor, statistic = text, "mean"
    if statistic not in STATISTICS:
        raise ParameterError(f"watch {text}: {unknown('statistic', statistic, STATISTICS)}")
    return Watch(tensor, statistic)  # pyright: ignore[reportArgumentType]


def measured(session: Session, watches: Sequence[Watch]) -> dict[str, float]:
    """The statistics of tensors as they are now, by the labels of the watches; waits for the GPU.

    NaN where there is none. Raises `ParameterError` for unknown tensors.
    """
    readings = []
    for watch in watches:
        tensor = catalog.require(session.stage, watch.tensor)
        with summarize(tensor) as record:
            readings.append((watch, tensor.dtype, record.read_async(Traffic.DIAGNOSTICS)))
    found = {}
    for watch, dtype, reading in readings:
        value = getattr(Summary.of(reading.result(), dtype), watch.statistic)
        found[watch.label] = float("nan") if value is None else float(value)
    return found
