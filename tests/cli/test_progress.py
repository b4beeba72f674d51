"""The progress of files that take long to read, in the terminal."""

from __future__ import annotations

import io
import time

import pytest
from rich.console import Console

from vertigrad.cli import progress
from vertigrad.progress import report


@pytest.mark.parametrize("terminal", [True, False])
def test_what_is_read_is_shown_in_a_terminal(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    file = io.StringIO()
    monkeypatch.setattr(progress, "errors_console", Console(file=file, force_terminal=terminal, width=80))
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.setattr(progress, "EVERY", 0.01)
    with progress.shown_progress():
        for part in range(10):
            report("reading [scan].laz", part, 10)
            time.sleep(0.02)
    assert ("reading [scan].laz" in file.getvalue()) == terminal


def test_nothing_is_shown_of_what_takes_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    monkeypatch.setattr(progress, "errors_console", Console(file=file, force_terminal=True))
    with progress.shown_progress():
        report("reading scan.laz", 1, 2)
    assert not file.getvalue()
