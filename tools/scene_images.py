"""Draw the packaged scenes at 1920x1080: their thumbnails, all of them on one sheet, and a table of their times.

    python tools/scene_images.py [SCENE[@PRESET] ...] [--frame N] [--output FOLDER] [--showpieces]

Writes SCENE.png (640x360) to FOLDER, by default scenes/; without names also docs/images/scenes.jpg and
docs/scene-times.md. With --showpieces it writes docs/images/showpieces.jpg instead. Times are meant for a GPU of its
own; a frame is stepped and drawn at once, without vertical sync.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

import vertigrad
from vertigrad.gpu import Gpu
from vertigrad.headless.offscreen import FORMAT, Offscreen
from vertigrad.headless.still import Still
from vertigrad.renderer.renderer import Renderer
from vertigrad.session import STEP, Session, commands
from vertigrad.session.statistics import GpuTimes

ROOT = Path(__file__).resolve().parents[1]
SIZE, THUMBNAIL, ON_SHEET = (1920, 1080), (640, 360), (408, 229)
ACROSS = 4
FRAME = 60  # of the image
FRAMES = {"castle": 24, "galaxies": 240, "storm_tank": 84, "wind_tunnel": 150}  # if it is another one
SHOWPIECES = (
    *("campfire", "wind_tunnel", "flock", "castle", "storm_tank", "jellyfish"),
    *("galaxies@A million stars", "mixer", "mandelbulb"),
)
TIMED = 40  # frames
MOST_MS = 1000.0 / 60.0
HEAD = """# Times of the packaged scenes

Each scene at {width} x {height} pixels in its default size on {adapter}: from opening the file to the first image; then
a frame, stepped and drawn, the mean of {timed} after {frame}; of it, the GPU's time for models and for drawing.
`python tools/scene_images.py` writes this page. {fast} of {all} scenes take less than {most:.1f} ms a frame.

| scene | first image [s] | frame [ms] | models [ms] | drawing [ms] |
|---|---|---|---|---|
"""


class Times(NamedTuple):
    """Of a scene: the first image [s], a frame and its parts on the GPU [ms]."""

    name: str
    first: float
    frame: float
    compute: float
    draw: float

    def row(self) -> str:
        return f"| {self.name} | {self.first:.1f} | {self.frame:.1f} | {self.compute:.1f} | {self.draw:.1f} |\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", nargs="*")
    parser.add_argument("--frame", type=int, help="which frame is the image")
    parser.add_argument("--showpieces", action="store_true", help="the sheet of the README instead")
    parser.add_argument("--output", type=Path, default=ROOT / "scenes", help="folder of the thumbnails")
    arguments = parser.parse_args()
    gpu, images = vertigrad.gpu(), ROOT / "docs" / "images"
    if arguments.showpieces:
        shown = [Image.fromarray(drawn(gpu, name, arguments.frame)[1]) for name in SHOWPIECES]
        sheet(shown, 3, THUMBNAIL).save(images / "showpieces.jpg", quality=88)
        return
    names = arguments.scenes or sorted(path.stem for path in (ROOT / "scenes").glob("*.toml"))
    arguments.output.mkdir(parents=True, exist_ok=True)
    times, shown = list[Times](), list[Image.Image]()
    for name in names:
        measured, image = drawn(gpu, name, arguments.frame)
        times.append(measured)
        shown.append(Image.fromarray(image))
        thumbnail = shown[-1].resize(THUMBNAIL, Image.Resampling.LANCZOS)
        thumbnail.save(arguments.output / f"{name.replace('@', ' ')}.png", optimize=True)
        print(measured.row(), end="", flush=True)
    if not arguments.scenes:
        sheet(shown, ACROSS, ON_SHEET).save(images / "scenes.jpg", quality=88)
        (ROOT / "docs" / "scene-times.md").write_text(page(times, gpu.adapter.name))


def drawn(gpu: Gpu, name: str, frame: int | None) -> tuple[Times, np.ndarray]:
    """The times of a scene, of which a preset can be named, and its image at a frame, sRGB (height, width, 3).

    None is the frame of its images.
    """
    scene, _, preset = name.partition("@")
    frame = frame or FRAMES.get(scene, FRAME)
    began = time.perf_counter()
    with Session(gpu, ROOT / "scenes" / f"{scene}.toml", []) as session:
        renderer, target = Renderer(gpu, FORMAT), Offscreen(gpu, SIZE)
        gpu.timer.enabled = True
        if preset:
            session.post(commands.ApplyPreset(preset))

        def draw() -> None:
            with gpu.frames.frame():
                session.apply()
                session.advance()
                session.draw(renderer, target.view, SIZE)
            session.cameras.advance(STEP)

        draw()
        gpu.sync()
        first = time.perf_counter() - began
        for done in range(1, max(frame, FRAME) + 1):
            if done == frame:
                image = Still(session).image(SIZE)[..., :3]
            draw()
        on_gpu = GpuTimes(TIMED, gpu.timer.latest)
        began = time.perf_counter()
        for _ in range(TIMED):
            draw()
            on_gpu.take(gpu.timer.latest)
        gpu.sync()
        whole = (time.perf_counter() - began) / TIMED * 1e3
        parts = [float(np.median(list(one))) if len(list(one)) else 0.0 for one in (on_gpu.compute_ms, on_gpu.draw_ms)]
    return Times(name, first, whole, *parts), image


def sheet(images: Sequence[Image.Image], across: int, size: tuple[int, int]) -> Image.Image:
    """The images in rows of so many, in their order, each of this size."""
    width, height = size
    whole = Image.new("RGB", (across * width, math.ceil(len(images) / across) * height))
    for number, image in enumerate(images):
        corner = number % across * width, number // across * height
        whole.paste(image.resize(size, Image.Resampling.LANCZOS), corner)
    return whole


def page(times: Sequence[Times], adapter: str) -> str:
    fast = sum(one.frame < MOST_MS for one in times)
    head = HEAD.format(
        width=SIZE[0],
        height=SIZE[1],
        adapter=adapter,
        frame=FRAME,
        timed=TIMED,
        fast=fast,
        all=len(times),
        most=MOST_MS,
    )
    return head + "".join(one.row() for one in times)


if __name__ == "__main__":
    main()
