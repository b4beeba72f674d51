"""A table of frames a second: points that a loop in NumPy moves, by Vertigrad, pygfx, Polyscope and viser.

`python -m tests.bench.points_table` in the root of the checkout; every program that is installed runs in a process of
its own, without windows. All do the same work: a frame uploads all positions (12 MB for a million), draws them at the
same pixels with one camera, and returns the image as an array. That nothing is skipped is checked: after an upload of
other positions the image has its points at their pixels. Vertigrad always takes 4 samples of a pixel, the others take
4 and 1. Spheres are shaded and have the depth of a sphere in each pixel; flat sprites have one color, and the depth of
their middle. Vertigrad's glowing spheres look flat. viser draws in a browser (Chromium, by WebGL), which sends JPEGs.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from .drawn_points import BACKGROUND, DISTANCE, FOV, SIZE, Polyscope, Pygfx, frames_a_second, misplaced, start

RADIUS = 0.006  # 1.0 to 1.7 pixels, so that ours are drawn as spheres
CHECKED = 2_000  # positions of all points when their pixels are checked
MISPLACED = 0.03  # of the points, and of the lit pixels: JPEGs have some around the points


class Program(Protocol):
    """A program that draws points."""

    def upload(self, positions: np.ndarray) -> None: ...

    def image(self) -> np.ndarray: ...


class Vertigrad:
    """A script's viewer without a window: points as lit spheres, or as flat discs ("glow")."""

    def __init__(self, positions: np.ndarray, radius: float, sprite: str = "glow"):
        import vertigrad as vg

        self.viewer = vg.Viewer("points", size=SIZE, offscreen=True)
        self.viewer.view(bloom=0.0, background=BACKGROUND, vignette=0.0)
        glow = 1.0 if sprite == "glow" else 0.0
        self.cloud = self.viewer.points("cloud", position=positions, size=radius, color="#ffffff", emissive=glow)
        self.viewer.camera(position=(0.0, 0.0, DISTANCE), target=(0.0, 0.0, 0.0), fov=FOV)

    def upload(self, positions: np.ndarray) -> None:
        self.cloud.position = positions

    def image(self) -> np.ndarray:
        return self.viewer.image()

    def tensor_frame(self) -> Callable[[], None]:
        """A frame whose loop writes the tensor that is drawn."""
        factors = cycle((0.98, 1.0 / 0.98))

        def frame() -> None:
            self.cloud.position *= next(factors)
            self.image()

        return frame

    def geometry_bytes(self, frame: Callable[[], None]) -> int:
        """The bytes of geometry that a frame moves between host and GPU, and on the GPU."""
        from vertigrad.gpu import Traffic
        from vertigrad.gpu.meter import difference

        meter = self.viewer.session.gpu.meter
        frame()
        before = meter.read()
        frame()
        return sum(difference(meter.read(), before)[Traffic.GEOMETRY.value].values())


class Viser:
    """viser: a server whose client, in headless Chromium, draws and sends the image back as a JPEG."""

    def __init__(self, positions: np.ndarray, radius: float):
        import viser
        from tests.remote.browser import browsing, until

        self._server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
        shape: Any = {"point_shape": "square", "point_shading": "flat", "precision": "float32"}
        black = (0, 0, 0)  # on white, inverted later: the background of rendered images is white
        self._points = self._server.scene.add_point_cloud("/points", positions, black, point_size=2.0 * radius, **shape)
        folder = tempfile.mkdtemp()
        self._browser = browsing(Path(folder), (SIZE[0], SIZE[1] + 200))
        page = self._browser.__enter__()
        page.open(f"http://127.0.0.1:{self._server.get_port()}")
        self._client = until(lambda: next(iter(self._server.get_clients().values()), None), "a client of viser")

    def upload(self, positions: np.ndarray) -> None:
        self._points.points = positions

    def image(self) -> np.ndarray:
        camera: Any = {"wxyz": (0.0, 1.0, 0.0, 0.0), "position": (0.0, 0.0, DISTANCE), "fov": np.radians(FOV)}
        return 255 - self._client.get_render(SIZE[1], SIZE[0], timeout=60.0, **camera)

    def close(self) -> None:
        self._browser.__exit__(None, None, None)
        self._server.stop()


class Row(NamedTuple):
    """A row of the table: a program that draws one kind of sprite."""

    package: str
    sprite: str
    samples: int
    create: Callable[[np.ndarray, float], Any]


def _rows() -> dict[str, Row]:
    rows = [
        Row("vertigrad", "spheres", 4, lambda at, radius: Vertigrad(at, radius, "sphere")),
        Row("vertigrad", "glowing spheres", 4, Vertigrad),
        Row("viser", "flat squares", 1, Viser),
    ]
    for samples in (4, 1):
        rows += [
            Row("polyscope", "spheres", samples, lambda at, r, n=samples: Polyscope(at, r, "sphere", n)),
            Row("polyscope", "flat squares", samples, lambda at, r, n=samples: Polyscope(at, r, "square", n)),
            Row("pygfx", "flat squares", samples, lambda at, r, n=samples: Pygfx(at, r, "square", n)),
            Row("pygfx", "flat discs", samples, lambda at, r, n=samples: Pygfx(at, r, "disc", n)),
        ]
    return {f"{row.package}, {row.sprite}, {row.samples}": row for row in rows}


def loop(program: Program, turns: list[np.ndarray]) -> Callable[[], None]:
    """A frame: upload the next positions, and take the image."""
    following = cycle(turns)

    def frame() -> None:
        program.upload(next(following))
        program.image()

    return frame


def require_points_drawn(program: Program, count: int, radius: float) -> None:
    """Draw other positions, twice, and find them in the image. Raises `AssertionError`."""
    for factor in (1.0, 0.7):
        positions = start(CHECKED) * np.float32(factor)
        program.upload(np.resize(positions, (count, 3)))
        dark, far = misplaced(program.image(), positions, radius)
        assert max(dark, far) < MISPLACED, (
            f"{dark:.1%} of the points are dark, {far:.1%} of the lit pixels are elsewhere"
        )


def measure(key: str, count: int, frames: int, radius: float) -> dict[str, Any]:
    """The rates of one row, frames a second: "numpy", and of ours "tensor", with its bytes of geometry a frame."""
    program = _rows()[key].create(start(count), radius)
    try:
        return _measured(program, count, frames, radius)
    finally:
        if isinstance(program, Viser):
            program.close()


def _measured(program: Any, count: int, frames: int, radius: float) -> dict[str, Any]:
    turns = [start(count), start(count) * np.float32(0.98)]
    found: dict[str, Any] = {"numpy": frames_a_second(loop(program, turns), program.image, frames)}
    require_points_drawn(program, count, radius)
    if isinstance(program, Vertigrad):
        program.upload(turns[0])
        frame = program.tensor_frame()
        found["tensor"] = frames_a_second(frame, program.image, frames)
        found["bytes"] = program.geometry_bytes(frame)
        found["gpu"] = program.viewer.session.gpu.adapter.name
        program.viewer.close()
    elif isinstance(program, Pygfx):
        found["gpu"] = program.gpu
    return found


def _in_process(key: str, words: list[str]) -> dict[str, Any] | str:
    """What a process of its own measures, or why there is nothing."""
    command = [sys.executable, "-m", __spec__.name, "--row", key, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    if done.returncode != 0:
        return (lines or [f"exit status {done.returncode}"])[-1]
    backend = [line.partition("Loaded ")[2] for line in lines if "Backend:" in line]  # Polyscope prints it
    return {**({"gpu": backend[0]} if backend else {}), **json.loads(lines[-1])}


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--frames", type=int, default=60, help="frames of each of five rounds; the fastest counts")
    parser.add_argument("--radius", type=float, default=RADIUS)
    parser.add_argument("--row", help="measure one row in this process, and print JSON")
    options = parser.parse_args(words)
    if options.row:
        return print(json.dumps(measure(options.row, options.points, options.frames, options.radius)))
    print(f"{options.points:,} points, radius {options.radius}, {SIZE[0]}x{SIZE[1]} pixels, frames a second")
    print("| program | sprite | samples | loop in NumPy | loop writes tensors |\n|---|---|---|---|---|")
    gpus: dict[str, str] = {}
    for key, row in _rows().items():
        found = _in_process(key, words)
        version = "" if row.package == "vertigrad" else f" {_version(row.package)}"
        if isinstance(found, str):
            print(f"| {row.package}{version} | {row.sprite} | {row.samples} | not measured: {found} | |", flush=True)
            continue
        tensor = f"{found['tensor']:.4g}, {found['bytes']} bytes of geometry" if "tensor" in found else ""
        gpus[row.package] = found.get("gpu", "a browser")
        print(
            f"| {row.package}{version} | {row.sprite} | {row.samples} | {found['numpy']:.4g} | {tensor} |", flush=True
        )
    print(*(f"{package}: {gpu}" for package, gpu in gpus.items()), sep="\n")


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"


if __name__ == "__main__":
    main(sys.argv[1:])
