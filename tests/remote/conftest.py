from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from vertigrad import resources
from vertigrad.gpu import Gpu
from vertigrad.remote import Served
from vertigrad.session import Session


@pytest.fixture
def serving(steady: Gpu) -> Iterator[Callable[..., Served]]:
    """Serves a packaged scene or a file, paused; ended after the test."""
    with ExitStack() as stack:

        def start(scene: Any = "nbody", sets: tuple[str, ...] = ("galaxy.count=512",), **options: Any) -> Served:
            path = resources.path("scenes", f"{scene}.toml") if isinstance(scene, str) else scene
            session = stack.enter_context(Session(steady, path, sets))
            session.playing = False
            return stack.enter_context(Served(session, **{"size": (320, 240), **options}))

        yield start


@pytest.fixture
def served(serving: Callable[..., Served]) -> Served:
    return serving()
