"""A screen in memory, for benchmarks of the window, and the file of results."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .results import write

DESKTOP = Path(__file__).parent.parent / "window" / "desktop.py"  # in a folder that is no package


@pytest.fixture(scope="session")
def screen() -> Iterator[str]:
    """For the whole session: glfw keeps its first connection as long as the process lives."""
    if sys.platform != "linux":
        pytest.skip("windows are tested on Linux only, where a virtual screen exists")
    with runpy.run_path(str(DESKTOP))["running_server"]() as name:
        yield name


@pytest.fixture
def display(screen: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The display on which the test opens windows."""
    monkeypatch.setenv("DISPLAY", screen)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    return screen


@pytest.fixture(scope="session", autouse=True)
def results() -> Iterator[None]:
    """Write the measured results at the end, also if a benchmark failed."""
    yield
    if path := write():
        print(f"\nresults in {path}")
