"""`DiagnosticsFile`: the models' diagnostics, and statistics of tensors, in each frame of a run, as CSV or NPZ."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..atomic_file import write_file
from ..errors import InputError
from ..session import Session
from ..session.measurements import field, measured, packed
from ..session.readbacks import wait_for_readbacks
from ..session.watches import Watch
from .run_files import RunFile

NPZ = ".npz"


class DiagnosticsFile(RunFile):
    """One row per frame: frame, simulated time [s], the diagnostics as "model.name", and what is watched.

    A CSV file has each row as soon as it is measured; an NPZ file is written at the end. Raises `InputError`.
    """

    def __init__(self, path: Path, watches: Sequence[Watch] = ()):
        self.path, self._watches = path, watches
        self._rows: list[dict[str, float]] = []
        self._names: list[str] = []
        self._is_headed = False
        self._file = None if path.suffix.lower() == NPZ else self._opened()

    def wants(self, frame: int, last: int) -> bool:
        return True

    def add(self, session: Session, frame: int) -> None:
        """Measure the models, and write a row; waits for the GPU."""
        session.measure()
        wait_for_readbacks(session.gpu)
        session.diagnostics.collect()
        values = dict(session.diagnostics) | measured(session, self._watches)
        self._names = self._names or ["frame", "time", *sorted(values)]
        row = {"frame": session.frame, "time": session.time, **values}
        if self._file is None:
            self._rows.append(row)
        else:
            self._write(self._file, row)

    def close(self) -> None:
        """Complete the file."""
        if self._file is not None:
            self._file.close()
        else:
            rows = self._rows
            columns = {name: np.array([row.get(name, np.nan) for row in rows]) for name in self._names}
            write_file(self.path, packed(self.path, columns))

    def discard(self) -> None:
        """Remove the file."""
        if self._file is not None:
            self._file.close()
            self.path.unlink(missing_ok=True)

    def _opened(self):
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return self.path.open("w", newline="", encoding="utf-8")
        except OSError as error:
            raise self._unwritable(error) from error

    def _write(self, file, row: dict[str, float]) -> None:
        try:
            writer = csv.writer(file)
            if not self._is_headed:
                writer.writerow(self._names)
                self._is_headed = True
            writer.writerow([field(row.get(name)) for name in self._names])
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> InputError:
        return InputError(f"{self.path}: cannot be written ({error.strerror})")
