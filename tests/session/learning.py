"""A scene with a model trained to fit a plane, for tests of training and export."""

from __future__ import annotations

from pathlib import Path

import numpy as np

HILLS = """version = 1
title = "Hills"

[models.learner]
type = "train"
learning_rate = 0.01

[models.learner.data]
kind = "plane"
file = "hills.npy"
resolution = 16

[models.learner.network]
width = 16
depth = 1

[models.relief]
type = "relief"
inputs = { values = "learner.value" }

[layers.hills]
type = "surface"
position = "relief.position"
"""


def hills_in(folder: Path, rate: str = "learning_rate = 0.01") -> Path:
    """The scene's file, in the folder of the plane; `rate` is the line, or lines, of its learning rate."""
    y, x = np.mgrid[0:16, 0:16] / 5.0
    np.save(folder / "hills.npy", np.sin(x) * y)
    path = folder / "hills.toml"
    path.write_text(HILLS.replace("learning_rate = 0.01", rate), encoding="utf-8")
    return path
