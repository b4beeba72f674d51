"""A viewer without a window."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import vertigrad as vg
from vertigrad.gpu import Gpu

SIZE = (96, 64)


@pytest.fixture
def viewer(steady: Gpu) -> Iterator[vg.Viewer]:
    with vg.Viewer("test", SIZE, offscreen=True) as viewer:
        yield viewer
