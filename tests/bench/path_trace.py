"""Samples and rays a second of path-traced stills: `python -m tests.bench.path_trace` in the root of the checkout.

Each scene is run for some frames and traced at 1920x1080; --output writes the images. The time is that of the samples
alone; that of gathering the layers and of building the tree is printed apart. Rays, of sight, of shadows and those that
were reflected, are counted in a second, short run.
"""

from __future__ import annotations

import argparse
import time
from contextlib import closing
from pathlib import Path

from vertigrad.gpu import gpu
from vertigrad.headless import render
from vertigrad.headless.path_trace import write_image
from vertigrad.path_trace import PathTracer, gather
from vertigrad.scene.packaged import scene_path
from vertigrad.session import Session

FRAMES = {"mesh": 1, "mpm": 120, "smoke": 240, "isosurface": 60}
COUNTED = 2  # samples of each pixel whose rays are counted


def measure(name: str, size: tuple[int, int], samples: int, folder: Path | None, sets: list[str]) -> None:
    """Print the numbers of one scene."""
    session = Session(gpu(), scene_path(name), sets)
    with closing(session):
        render(session, FRAMES.get(name, 60), (64, 36), draw=False)
        session.gpu.sync()
        begun = time.perf_counter()
        gathered = gather(list(session.stage.layers.values()))
        read = time.perf_counter()
        options = session.gpu, gathered, session.view, session.camera, size
        with closing(PathTracer(*options)) as tracer:
            tracer.advance(samples)  # compiles the kernel
            built, before = time.perf_counter(), tracer.done
            while tracer.samples < samples:
                tracer.advance(samples)
            seconds = time.perf_counter() - built
            traced = (samples - before) * size[0] * size[1]
            if folder is not None:
                write_image(session, tracer, folder / f"{name}.png")
        with closing(PathTracer(*options, count_rays=True)) as tracer:
            while tracer.samples < COUNTED:
                tracer.advance(COUNTED)
            rays = float(tracer.light()[..., 0].mean())
    shapes = sum(len(one.primitives) for one in gathered.shapes)
    print(
        f"{name}: {shapes:,} triangles and spheres, {len(gathered.volumes)} volumes; read in {read - begun:.2f} s, "
        f"tree and kernel in {built - read:.2f} s; {samples} samples in {seconds:.2f} s: "
        f"{traced / seconds / 1e6:.2f} Msamples/s, {rays:.2f} rays each, {rays * traced / seconds / 1e6:.2f} Mrays/s"
    )


def main() -> None:
    """Measure the scenes that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("scenes", nargs="*", default=list(FRAMES))
    parser.add_argument("--size", default="1920x1080")
    parser.add_argument("--samples", type=int, default=256)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--set", action="append", default=[])
    options = parser.parse_args()
    width, height = map(int, options.size.split("x"))
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
    print(gpu().adapter)
    for name in options.scenes:
        measure(name, (width, height), options.samples, options.output, options.set)


if __name__ == "__main__":
    main()
