"""`DiagnosticsFile`: the models' diagnostics in each frame of a run, as a CSV file."""

from __future__ import annotations

import csv
from pathlib import Path

from ..errors import InputError
from ..session import Session
from ..session.readbacks import wait_for_readbacks
from .run_files import RunFile


class DiagnosticsFile(RunFile):
    """One row per frame: frame, simulated time [s], and the diagnostics as "model.name". Raises `InputError`."""

    def __init__(self, path: Path):
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("w", newline="", encoding="utf-8")
        except OSError as error:
            raise InputError(f"--diagnostics {path}: cannot be written ({error.strerror})") from error
        self._writer = csv.writer(self._file)
        self._names: list[str] = []

    def wants(self, frame: int, last: int) -> bool:
        return True

    def add(self, session: Session, frame: int) -> None:
        """Measure the models, and write a row; waits for the GPU."""
        session.measure()
        wait_for_readbacks(session.gpu)
        session.diagnostics.collect()
        values = session.diagnostics
        try:
            if not self._names:
                self._names = sorted(values)
                self._writer.writerow(["frame", "time", *self._names])
            found = [repr(values[name]) if name in values else "" for name in self._names]
            self._writer.writerow([session.frame, repr(session.time), *found])
        except OSError as error:
            raise InputError(f"--diagnostics {self.path}: cannot be written ({error.strerror})") from error

    def close(self) -> None:
        """Complete the file."""
        self._file.close()
