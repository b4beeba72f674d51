"""Diagnostics and watches as tables."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from vertigrad.errors import InputError
from vertigrad.session.commands import AddWatch, ExportMeasurements
from vertigrad.session.measurements import packed, table
from vertigrad.session.watches import Watch


def frame(session) -> None:
    with session.gpu.frames.frame():
        session.apply()
        session.advance()
        session.measure()
        session.request_readbacks()
    session.gpu.sync()


def test_values_at_other_times_are_empty(opened, tmp_path: Path) -> None:
    session = opened()
    session.post(AddWatch(Watch("row.position", "max")))
    for _ in range(9):
        frame(session)
    session.apply()
    found = table(session)
    watched = session.watches.history[Watch("row.position", "max")]
    assert np.array_equal(found["max of row.position"].compressed(), watched.values.values)
    assert 1 <= len(watched) < len(found["time"])
    for name, history in session.diagnostics.history.items():
        assert np.array_equal(found[name].compressed(), history.values.values)
        assert np.array_equal(found["time"][~found[name].mask], history.times.values)
    rows = list(csv.DictReader(io.StringIO(packed(Path("a.csv"), found).decode())))
    assert sum(row["max of row.position"] != "" for row in rows) == len(watched)
    session.post(ExportMeasurements(tmp_path / "a.npz"))
    session.apply()
    with np.load(tmp_path / "a.npz") as file:
        assert set(file) == set(found)
        assert np.array_equal(file["max of row.position"], found["max of row.position"].filled(np.nan), equal_nan=True)


def test_nan_is_not_missing() -> None:
    columns = {"time": np.array([0.0, 1.0]), "a": np.ma.MaskedArray([np.nan, 1.0], [False, True])}
    assert packed(Path("a.csv"), columns).decode().split() == ["time,a", "0.0,nan", "1.0,"]


def test_no_measurements_and_other_file_types(opened, tmp_path: Path) -> None:
    session = opened()
    with pytest.raises(InputError, match="nothing was measured yet"):
        table(session)
    with pytest.raises(InputError, match=r"written as \.csv or \.npz, not as \.txt"):
        packed(tmp_path / "a.txt", {})
