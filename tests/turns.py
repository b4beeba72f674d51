"""Tests that take turns: a long test marked `turns(n)` runs at every n-th commit, or an n-th of its cases at each."""

from __future__ import annotations

import os
import subprocess
import zlib
from collections import Counter
from pathlib import Path

import pytest

COMMIT = "VERTIGRAD_TEST_COMMIT"  # environment variable: the number of the commit whose turn it is


def commit() -> int:
    """The number of commits up to the one that is checked out; 0 outside of a repository."""
    command = ["git", "rev-list", "--count", "HEAD"]
    try:
        done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return 0
    return int(done.stdout)


def deselect(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the cases of other commits, unless all are requested, or some were chosen by name."""
    keyword = config.option.keyword
    named = (keyword and not keyword.startswith("not ")) or any("::" in arg for arg in config.args)
    if config.getoption("exhaustive") or named:
        return
    number, cases = int(os.environ[COMMIT]), Counter[str]()
    chosen: list[pytest.Item] = []
    waiting: list[pytest.Item] = []
    for item in items:
        mark = item.get_closest_marker("turns")
        function = item.nodeid.split("[")[0]
        its_turn = mark is None or takes_turn(function, cases[function], mark.args[0], number)
        (chosen if its_turn else waiting).append(item)
        cases[function] += 1
    if waiting:
        config.hook.pytest_deselected(items=waiting)
        items[:] = chosen


def takes_turn(function: str, case: int, each: int, number: int) -> bool:
    """Whether a function's case with this index runs at the commit of that number: each function begins elsewhere."""
    return (zlib.crc32(function.encode()) + case + number) % each == 0
