"""Scenes as they were first written, with the old names of keys, load with a notice and draw what they draw today.

The files of `old_scenes/` are shipped scenes of commit 432176e, those of `renamed/` the same with new names. They are
never changed, unlike the packaged scenes.
"""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vertigrad.gpu import Gpu
from vertigrad.headless import render
from vertigrad.session import Session

FOLDER = Path(__file__).parent / "old_scenes"
SIZE, FRAMES = (120, 80), 5
RENAMED = {  # old names in each file, and what they are called now
    "cloth": {"centre": "center", "sphere": "sphere_center", "look": "theme"},
    "flock": {
        "radius": "perception_radius",
        "near": "separation_radius",
        "flock.neighbours": "flock.neighbors",
    },
    "wind_lines": {
        "rows": "vertices",
        "pulse": "dashes",
        "pulse_length": "dash_spacing",
        "pulse_speed": "dash_speed",
    },
}
SMALLER = {"cloth": ["cloth.resolution=32"], "flock": ["flock.count=600"], "wind_lines": ["layers.lines.count=200"]}


def frames(gpu: Gpu, scene: Path, sets: list[str], folder: Path) -> list[np.ndarray]:
    """The frames of a scene as they are written to files, (height, width, channels) u8."""
    folder.mkdir()
    with Session(gpu, scene, sets) as session:
        render(session, FRAMES, SIZE, [folder / "%d.png"])
    files = sorted(folder.iterdir())
    assert len(files) == FRAMES
    return [np.asarray(Image.open(file)) for file in files]


@pytest.mark.turns(3)
@pytest.mark.parametrize("name", RENAMED)
def test_an_old_scene_draws_the_same_pixels(
    steady: Gpu, tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    (tmp_path / name).mkdir()
    old = tmp_path / name / f"{name}.toml"  # a path of its own: the notice is logged once for each
    old.write_bytes((FOLDER / f"{name}.toml").read_bytes())
    with caplog.at_level(logging.WARNING, "vertigrad"):
        before = frames(steady, old, SMALLER[name], tmp_path / "old")
    [notice] = [record.getMessage() for record in caplog.records if "old names are read" in record.getMessage()]
    assert notice.startswith(f"{name}.toml: ")
    written = set(notice.rpartition(": ")[2].split(", "))
    assert written == {f"{old} is now {new}" for old, new in RENAMED[name].items()}
    now = frames(steady, FOLDER / "renamed" / f"{name}.toml", SMALLER[name], tmp_path / "new")
    for number, (one, other) in enumerate(zip(before, now, strict=True)):
        assert np.array_equal(one, other), f"frame {number} differs"
    assert np.std(now[-1]) > 2, "there is something to see"
    assert not np.array_equal(now[0], now[-1]), "and it moves"


def test_the_files_still_have_the_old_names() -> None:
    for name, names in RENAMED.items():
        text, today = ((folder / f"{name}.toml").read_text() for folder in (FOLDER, FOLDER / "renamed"))
        assert all(old in text and new not in text and new in today for old, new in names.items())
