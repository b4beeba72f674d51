"""Render the image of docs/formats.md: a glossy knot of splats, in two views and cropped.

    python tools/formats_images.py

The splats are those of assets/training/make_splats.py, but more of them, and with harmonics of degree 3.
"""

from __future__ import annotations

import runpy
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

import vertigrad as vg
from vertigrad import resources
from vertigrad.models.data import splat_file

OUTPUT = Path(__file__).resolve().parents[1] / "docs" / "images" / "formats-splats.jpg"
COUNT, SIZE = 60_000, (420, 360)
SPLATS = resources.path("assets", "training", "make_splats.py")
SCENE = """version = 1
[camera]
position = {eye}
target = [0, 0, 0]
fov = 34
[models.knot]
type = "splats"
file = "knot.spz"
[layers.knot]
type = "splats"
{attributes}
{style}
[view]
background = "#14161b"
"""
VIEWS = [("[1.0, 1.5, 2.9]", ""), ("[-1.6, 1.2, 2.6]", ""), ("[-1.6, 1.2, 2.6]", "crop_high = [9, 9, 0.06]")]


def main() -> None:
    names = ("position", "scale", "rotation", "opacity", "color", "harmonics")
    attributes = "\n".join(f'{name} = "knot.{name}"' for name in names)
    with tempfile.TemporaryDirectory() as folder:
        splat_file.write(Path(folder) / "knot.spz", runpy.run_path(str(SPLATS))["splats"](COUNT, 3))
        images = []
        for number, (eye, style) in enumerate(VIEWS):
            path = Path(folder) / f"{number}.toml"
            path.write_text(SCENE.format(eye=eye, style=style, attributes=attributes))
            with vg.Scene.load(path) as scene:
                images.append(scene.render(SIZE)[..., :3])
    Image.fromarray(np.concatenate(images, axis=1)).save(OUTPUT, quality=90)


if __name__ == "__main__":
    main()
