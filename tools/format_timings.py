"""Measure how long files of stated sizes take to load and to draw, as the table of docs/formats.md.

    python tools/format_timings.py [--scale 0.1] [--size 1920x1080] [--frames 30] [--only volume.npy] [--json FILE]

Files are generated in a temporary folder. `--scale` is a factor of the number of elements. Loading is from the call to
the first frame on the GPU, with the file in the system's cache and pipelines compiled: the second time of two. Formats
whose packages are missing are left out, with a message. No window, GUI library or video library is needed.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

import vertigrad
from vertigrad import resources
from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.headless.render import render
from vertigrad.models.data import splat_file
from vertigrad.models.data.splat_formats.values import Splats
from vertigrad.session import Session

SCANS = resources.path("assets", "training", "make_scans.py")
CHANCE = np.random.default_rng(3)


class Case(NamedTuple):
    """A file: of how many elements of which kind, and what writes one of so many."""

    count: int
    what: str
    write: Callable[[Path, int], None]


def splats(path: Path, count: int) -> None:
    """On the surface of a ball, with harmonics of degree 3."""
    normal = CHANCE.normal(size=(count, 3)).astype(np.float32)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    scale = np.full((count, 3), 1.5 * count**-0.5, np.float32)
    rotation = CHANCE.normal(size=(count, 4)).astype(np.float32)
    rotation /= np.linalg.norm(rotation, axis=1, keepdims=True)
    colors, opacity = np.abs(normal), np.full(count, 0.8, np.float32)
    harmonics = CHANCE.normal(0.0, 0.05, (count, 45)).astype(np.float32)
    splat_file.write(path, Splats(normal, scale, rotation, opacity, colors, harmonics))


def points(path: Path, count: int) -> None:
    """On rolling ground, with colors and an intensity."""
    xy = CHANCE.uniform(0.0, 1000.0, (count, 2))
    z = 30.0 * np.sin(xy[:, 0] / 90.0) * np.cos(xy[:, 1] / 70.0)
    rgb = CHANCE.integers(0, 255, (count, 3), np.uint8)
    scan = {"points": np.column_stack([xy, z]), "colors": rgb, "classification": rgb[:, 0] % 7, "intensity": rgb[:, 1]}
    kind = path.suffix
    if kind == ".npy":
        np.save(path, scan["points"].astype(np.float32))
    elif kind in (".las", ".laz"):
        runpy.run_path(str(SCANS))["write_las"](path, scan)
    else:
        import pyarrow as pa
        import pyarrow.csv
        import pyarrow.parquet

        columns = dict(zip("xyz", scan["points"].T, strict=True)) | {"intensity": scan["intensity"]}
        table = pa.table(columns | dict(zip(("red", "green", "blue"), rgb.T, strict=True)))
        (pyarrow.parquet.write_table if kind == ".parquet" else pyarrow.csv.write_csv)(table, path)


def volume(path: Path, count: int) -> None:
    """A cube of `count` values: shells around its middle, with noise."""
    side = round(count ** (1 / 3))
    z, y, x = np.ogrid[(slice(-1.0, 1.0, side * 1j),) * 3]
    values = 900.0 + 800.0 * np.sin(18.0 * np.sqrt(x * x + y * y + z * z)) + CHANCE.integers(0, 50, (side,) * 3)
    if path.suffix == ".npy":
        np.save(path, values.astype(np.float32))
    elif path.suffix == ".nrrd":
        import nrrd

        nrrd.write(str(path), values.transpose(2, 1, 0).astype(np.int16))
    else:
        import nibabel

        image = nibabel.Nifti1Image(values.transpose(2, 1, 0).astype(np.int16), np.eye(4))  # pyright: ignore
        nibabel.save(image, path)


def mesh(path: Path, count: int) -> None:
    """A wavy sheet of `count` vertices, with normals and a material."""
    side = round(count**0.5)
    u, v = np.meshgrid(*2 * [np.linspace(-1.0, 1.0, side, dtype=np.float32)])
    position = np.stack([u, 0.1 * np.sin(9 * u) * np.cos(7 * v), v], axis=-1).reshape(-1, 3)
    at = (np.arange(side - 1)[:, None] * side + np.arange(side - 1)).reshape(-1)
    index = np.stack([at, at + side, at + 1, at + 1, at + side, at + side + 1], axis=-1).reshape(-1, 3)
    if path.suffix != ".obj":
        import trimesh

        options = {"include_normals": True} if path.suffix == ".glb" else {}
        trimesh.Trimesh(position, index, process=False).export(path, **options)
        return
    path.with_suffix(".mtl").write_text("newmtl a\nKd 0.7 0.5 0.3\n")
    with path.open("w") as file:
        file.write(f"mtllib {path.stem}.mtl\nusemtl a\n")
        np.savetxt(file, position, "v %.6f %.6f %.6f")
        np.savetxt(file, index + 1, "f %d %d %d")


def image(path: Path, count: int) -> None:
    """A square of `count` pixels, with some noise."""
    from PIL import Image

    side = round(count**0.5)
    ramp = np.linspace(0.0, 230.0, side)[:, None, None] + CHANCE.integers(0, 25, (side, side, 3))
    Image.fromarray(ramp.astype(np.uint8)).save(path)


def recording(path: Path, count: int) -> None:
    """Thirty frames of `count` positions."""
    from vertigrad.models.data.recording_file import Recorded, RecordedTensor, RecordingWriter

    layer = '[layers.a]\ntype = "marks"\nposition = "a.star_position"\nsize = 0.005\n'
    recorded = Recorded("a", 0.0, 1 / 60, f'version = 1\n[models.a]\ntype = "nbody"\n{layer}')
    writer = RecordingWriter(path, {"a.star_position": RecordedTensor((count, 3), "f32")}, recorded, 30)
    start = CHANCE.uniform(-1.0, 1.0, (count, 3)).astype(np.float32)
    for frame in range(30):
        writer.add({"a.star_position": start * np.float32(1.0 + 0.01 * frame)})
    writer.close()


CASES = {
    "splats.ply": Case(1_000_000, "splats, degree 3", splats),
    "splats.compressed.ply": Case(1_000_000, "splats, degree 3", splats),
    "splats.spz": Case(1_000_000, "splats, degree 3", splats),
    "splats.splat": Case(1_000_000, "splats", splats),
    "sheet.glb": Case(1_000_000, "vertices", mesh),
    "sheet.obj": Case(250_000, "vertices", mesh),
    "sheet.stl": Case(250_000, "vertices", mesh),
    "image.png": Case(4096**2, "pixels", image),
    "points.npy": Case(5_000_000, "points", points),
    "points.las": Case(5_000_000, "points", points),
    "points.laz": Case(5_000_000, "points", points),
    "points.csv": Case(1_000_000, "points", points),
    "points.parquet": Case(5_000_000, "points", points),
    "volume.npy": Case(256**3, "values", volume),
    "volume.nrrd": Case(256**3, "values", volume),
    "volume.nii.gz": Case(256**3, "values", volume),
    "run.vgz": Case(1_000_000, "points a frame", recording),
}


class Row(NamedTuple):
    """What was measured of a file: seconds from opening it to the GPU having everything, and milliseconds of a frame.

    A frame has a time by the clock, with the GPU idle before and after all of them, and one on the GPU: None if it
    has no timestamps, or nothing was drawn.
    """

    file: str
    count: int
    what: str
    megabytes: float
    load_s: float
    frame_ms: float | None
    gpu_ms: float | None

    def cells(self) -> str:
        """A row of a table in Markdown."""
        frame, on_gpu = ("n/a" if ms is None else f"{ms:.2f}" for ms in (self.frame_ms, self.gpu_ms))
        kind, elements = "".join(Path(self.file).suffixes), f"{self.count:,} {self.what}"
        rate = self.megabytes / self.load_s
        return f"| `{kind}` | {elements} | {self.megabytes:.0f} | {self.load_s:.2f} | {rate:.0f} | {frame} | {on_gpu} |"


def measure(gpu: Gpu, path: Path, count: int, what: str, size: tuple[int, int], frames: int) -> Row:
    """Open a file twice, so that the second time pipelines are compiled, and draw it."""
    with Session(gpu, path):
        gpu.submit()
        gpu.sync()
    os.utime(path)  # nothing of it is cached by the program
    began = time.perf_counter()
    with Session(gpu, path) as session:
        gpu.submit()
        gpu.sync()
        row = Row(path.name, count, what, path.stat().st_size / 1e6, time.perf_counter() - began, None, None)
        if not frames:
            return row
        render(session, 3, size)
        gpu.sync()
        began = time.perf_counter()
        render(session, frames, size)
        gpu.sync()
        frame_ms = (time.perf_counter() - began) / frames * 1e3
        times = render(session, frames, size, timed=True).gpu_times
        on_gpu = [a + b for a, b in zip(times.compute_ms, times.draw_ms, strict=True)]
        return row._replace(frame_ms=frame_ms, gpu_ms=float(np.median(on_gpu)) if on_gpu else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--size", default="1920x1080")
    parser.add_argument("--frames", type=int, default=30)
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--json", type=Path, help="a file for the same rows")
    options = parser.parse_args()
    width, height = map(int, options.size.split("x"))
    gpu, rows = vertigrad.gpu(), list[Row]()
    print(f"{os.cpu_count()} processor cores, {gpu.adapter}; frames of {options.size}\n")
    print(
        "| file | elements | MB | load [s] | MB/s | frame [ms] | on the GPU [ms] |\n|---|---|---|---|---|---|---|",
        flush=True,
    )
    for name in options.only:
        case = CASES[name]
        with tempfile.TemporaryDirectory() as folder:
            path, count = Path(folder) / name, round(options.scale * case.count)
            try:
                case.write(path, count)
                row = measure(gpu, path, count, case.what, (width, height), options.frames)
            except (ImportError, InputError) as error:
                print(f"{name} is left out: {error}", file=sys.stderr)
                continue
        rows.append(row)
        print(row.cells(), flush=True)
        if options.json:
            found = {"adapter": gpu.report(), "processor_cores": os.cpu_count(), "frame": [width, height]}
            options.json.write_text(json.dumps(found | {"files": [row._asdict() for row in rows]}, indent=2) + "\n")


if __name__ == "__main__":
    main()
