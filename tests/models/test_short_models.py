"""A model with one kernel, its parameters and a scene takes 60 lines."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from vertigrad.models.registry import types

MODELS = ["array", "image", "nbody", "nbody_barnes_hut", "splats", "video", "volume"]


@pytest.mark.parametrize("name", MODELS)
def test_it_takes_at_most_60_lines(name: str) -> None:
    kind = types()[name]
    assert len(Path(inspect.getfile(kind)).read_text(encoding="utf-8").splitlines()) <= 60
    assert kind.__doc__ and kind.Params.__doc__
