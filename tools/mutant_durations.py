"""A pytest plugin for tools/mutants.py: seconds of each test that passed, −1 of one that did not, as JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

_seconds: dict[str, float] = {}


def pytest_runtest_logreport(report: Any) -> None:
    """Add up set-up, call and teardown; failed or skipped tests detect nothing."""
    known = _seconds.get(report.nodeid, 0.0)
    _seconds[report.nodeid] = known + report.duration if report.passed and known >= 0 else -1.0


def pytest_sessionfinish(session: Any) -> None:
    """Write them, once: in the process that sees all reports."""
    if not hasattr(session.config, "workerinput"):
        Path(os.environ["MUTANT_DURATIONS"]).write_text(json.dumps(_seconds), encoding="utf-8")
