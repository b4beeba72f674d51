"""Makes assets/data/cloth.vgz: a run of a cloth that falls over a ball, for the scene recorded_cloth.

python assets/training/make_recording.py

Positions are rounded to 1/1024: the file is half as large as with all their bits.
"""

import sys
import tempfile
from contextlib import closing
from pathlib import Path

import numpy as np

import vertigrad
from vertigrad.headless import render
from vertigrad.headless.recorded_run import RecordedRun
from vertigrad.models.data.recording_file import RecordingWriter, open_recording
from vertigrad.session import Session

FRAMES, STEPS = 90, 1024
NAME = "cloth.position"
SCENE = """version = 1
title = "A cloth falls over a ball"

[camera]
position = [1.7, 1.1, 2.5]
target = [0, -0.36, 0]
fov = 34

[models.cloth]
type = "cloth"
resolution = 32
width = 2.0
length = 2.0
pins = "none"
center = [0.0, 0.35, 0.0]
sphere_center = [0.0, -0.25, 0.0]
sphere_radius = 0.5
floor = true
ground = -0.75
friction = 0.35
bend = 1e-4
damping = 0.5

[layers.cloth]
type = "points"
position = "cloth.position"
size = 0.012
"""


def main(path):
    with tempfile.TemporaryDirectory() as folder:
        scene, exact = Path(folder) / "scene.toml", Path(folder) / "exact.vgz"
        scene.write_text(SCENE, encoding="utf-8")
        with Session(vertigrad.gpu(), scene) as session:
            render(session, FRAMES, (1, 1), draw=False, files=[RecordedRun(exact, session, [NAME], FRAMES)])
        with (
            closing(open_recording(exact)) as found,
            closing(RecordingWriter(path, found.tensors, found.recorded, found.count)) as writer,
        ):
            for frame in range(found.count):
                writer.add({NAME: np.round(found.frame(NAME, frame) * STEPS) / np.float32(STEPS)})


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "data" / "cloth.vgz")
