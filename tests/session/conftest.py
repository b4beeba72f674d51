"""Sessions over small scenes, on a GPU that must be idle before and after the test."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from vertigrad.gpu import Gpu
from vertigrad.session import Session

from .running import SCENE, use_models, written


@pytest.fixture
def opened(steady: Gpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Session]]:
    """Opens a session of a scene's text, written to scene.toml; closed after the test."""
    use_models(monkeypatch)
    with ExitStack() as stack:

        def open_(text: str = SCENE, **options: object) -> Session:
            return stack.enter_context(Session(steady, written(tmp_path, text), **options))

        yield open_
