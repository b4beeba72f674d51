"""A copy of the packaged shaders and scenes, to be edited."""

from __future__ import annotations

import shutil
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from weakref import WeakKeyDictionary

import pytest

from vertigrad import resources
from vertigrad.gpu import kernel as kernels
from vertigrad.gpu import shader
from vertigrad.renderer import pipelines


@contextmanager
def copied_project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Shaders and scenes that replace the real ones, with nothing compiled yet."""
    root = folder / "project"
    for name in ("shaders", "scenes"):
        shutil.copytree(resources.path(name), root / name)
    (root / "assets").symlink_to(resources.path("assets"))
    monkeypatch.setattr(resources, "root", lambda: root)
    monkeypatch.setattr(kernels, "_alive", {})
    monkeypatch.setattr(kernels, "_recent", OrderedDict())
    monkeypatch.setattr(pipelines, "_caches", WeakKeyDictionary())
    shader.forget()
    yield root
    shader.forget()
