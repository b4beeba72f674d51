"""Open a scan of many points and draw it: seconds to read it and to build its levels, and ms a frame from three views.

    python -m tests.bench.large_scan [MILLIONS] [RESIDENT_MILLIONS]

The points are random hills in a temporary file. Prints a line for each number.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from vertigrad.gpu import gpu
from vertigrad.headless import Offscreen
from vertigrad.headless.offscreen import FORMAT
from vertigrad.models.data import point_levels
from vertigrad.renderer.renderer import Renderer
from vertigrad.session import Session

SIZE = 1920, 1080
VIEWS = {"whole": (1.6, 1.1, 2.6), "part": (0.4, 0.3, 0.5), "near": (0.05, 0.12, 0.1)}
SCENE = """version = 1
[models.data]
type = "point_cloud"
file = "scan.npy"
resident = {resident}
[layers.points]
type = "marks"
shape = "pixel"
position = "data.position"
color = "data.color"
"""


def write(path: Path, count: int) -> None:
    """Hills with some noise, in rows of a million."""
    points = np.lib.format.open_memmap(path, "w+", np.float32, (count, 3))
    chance = np.random.default_rng(1)
    for first in range(0, count, 1 << 20):
        part = points[first : first + (1 << 20)]
        part[:] = chance.uniform(-1.0, 1.0, part.shape)
        part[:, 1] = 0.2 * np.sin(5 * part[:, 0]) * np.cos(4 * part[:, 2]) + 0.01 * part[:, 1]
    points.flush()


def main() -> None:
    millions, resident = (int(one) for one in [*sys.argv[1:], *("100", "8")[len(sys.argv) - 1 :]][:2])
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / "scan.npy", millions * 1_000_000)
        scene = Path(folder) / "scan.toml"
        scene.write_text(SCENE.format(resident=resident << 20))
        began = time.perf_counter()
        found = point_levels.levels(Path(folder).resolve() / "scan.npy")
        print(f"{gpu().adapter}: levels of {millions} M points: {time.perf_counter() - began:.1f} s")
        print(f"leaves: {len(found.starts) - 1}, largest {int(np.diff(found.starts).max()):,} points")
        began = time.perf_counter()
        with Session(gpu(), scene) as session:
            target = Offscreen(gpu(), SIZE)
            print(f"scene of {resident} Mi resident points: {time.perf_counter() - began:.1f} s")
            renderer = Renderer(gpu(), FORMAT)
            for name, position in VIEWS.items():
                session.cameras.now.take(type(session.cameras.now).from_position(position, (0.0, 0.0, 0.0), fov=45.0))
                began = time.perf_counter()
                session.draw(renderer, target.view, SIZE)
                gpu().sync()
                first = time.perf_counter() - began
                began = time.perf_counter()
                for _ in range(50):
                    session.draw(renderer, target.view, SIZE)
                    gpu().sync()
                each = (time.perf_counter() - began) / 50
                print(f"view {name}: pages read and drawn in {first:.2f} s, then {each * 1e3:.2f} ms a frame")


if __name__ == "__main__":
    main()
