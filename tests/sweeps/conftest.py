"""A small scene with Python of its own, which worker processes can build."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from vertigrad.results import Results
from vertigrad.scene import trust
from vertigrad.sweeps import runner

SCENE = """
version = 1
[models.cloud]
type = "cloud.py:Cloud"
[layers.points]
type = "points"
position = "cloud.position"
"""
MODEL = """
import time
from vertigrad.models import CustomModel
from vertigrad.params import Params, number

class Cloud(CustomModel):
    class Params(Params):
        speed: float = number(1.0)

    tensors = {"position": (64, 3)}

    def start(self, random):
        return {"position": random.normal(size=(64, 3))}

    def advance(self, dt):
        time.sleep(0.02)  # a run is to last until its process is killed
        self.position += self.params.speed * dt * self.position

    def diagnostics(self):
        return {"reach": self.position.max().reshape(1)}
"""
MEASURE = """
def spread(run):
    return float(run.outputs["cloud.position"].numpy().std())
"""


@pytest.fixture(autouse=True)
def plotted(monkeypatch: pytest.MonkeyPatch) -> list[Results]:
    """The results of which plots were to be written; they are not, since Matplotlib takes longer than a sweep here."""
    found: list[Results] = []
    monkeypatch.setattr(runner, "write_plots", found.append)
    return found


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Path]:
    """The scene's file, next to measures.py with the function `spread`; its Python may run."""
    folder = tmp_path / "scene"
    folder.mkdir()
    for name, text in {"scene.toml": SCENE, "cloud.py": MODEL, "measures.py": MEASURE}.items():
        (folder / name).write_text(text)
    trust.allow([folder / "cloud.py"])
    yield folder / "scene.toml"
    trust.forget()
