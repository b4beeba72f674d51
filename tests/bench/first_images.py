"""The time to the first image of the packaged scenes, each in a process of its own, divided into its parts.

    python -m tests.bench.first_images [SCENE ...] [--size 1280 720] [--cold]

The image is the one that a window shows first: of the models' start, at the quality with which windows begin. `wall`
and `cpu` are seconds up to it, the latter of all threads: on a machine with other work the time is between half of
`cpu`, for two processors, and `cpu`. The parts are CPU seconds too, up to the end of their work on the GPU: imports,
the device, the scene's file, models and layers, the image. What comes after it: `again` is the same image once more,
so that `image` less `again` is what pipelines took; then the first step of the models, and the `next`. With `--cold`
Mesa has no pipelines of earlier runs on the disk.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("imports", "device", "file", "build", "image", "again", "step", "next")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", nargs="*")
    parser.add_argument("--size", type=int, nargs=2, default=(1280, 720))
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.here:
        measure(arguments.scenes[0], (arguments.size[0], arguments.size[1]))
        return
    names = arguments.scenes or sorted(path.stem for path in (ROOT / "scenes").glob("*.toml"))
    print("| scene | load | wall | cpu |", " | ".join(PARTS), "|\n|" + "---|" * (4 + len(PARTS)), flush=True)
    for name in names:
        print(row(name, arguments.size, arguments.cold), flush=True)


def row(scene: str, size: tuple[int, int], cold: bool) -> str:
    """The table's row of a scene, measured in a new process; an error instead of times if that fails."""
    load, program = os.getloadavg()[0], [sys.executable, "-m", "tests.bench.first_images", "--here", scene]
    with tempfile.TemporaryDirectory() as empty:
        environment = os.environ | ({"MESA_SHADER_CACHE_DIR": empty} if cold else {})
        command = [*program, "--size", *map(str, size)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    if done.returncode:
        return f"| {scene} | {load:.1f} | {done.stderr.strip().splitlines()[-1]} |"
    times: dict[str, tuple[float, float]] = json.loads(done.stdout.splitlines()[-1])
    passed = [cpu for _, cpu in times.values()]
    values = [load, *times["image"], *(b - a for a, b in zip([0.0, *passed], passed, strict=False))]
    return f"| {scene} | " + " | ".join(f"{value:.1f}" for value in values) + " |"


def measure(scene: str, size: tuple[int, int]) -> None:
    """Print the wall-clock and the CPU seconds from the start of this process to the end of each part, as JSON."""
    began = time.perf_counter()
    times: dict[str, tuple[float, float]] = {}

    def passed(part: str) -> None:
        times[part] = time.perf_counter() - began, time.process_time()

    import vertigrad
    from vertigrad.headless.offscreen import FORMAT, Offscreen
    from vertigrad.renderer.renderer import Renderer
    from vertigrad.session import Session
    from vertigrad.session.running import SceneSource
    from vertigrad.viewer.quality import QualityWatch

    passed("imports")
    gpu = vertigrad.gpu()
    passed("device")
    source = SceneSource(ROOT / "scenes" / f"{scene}.toml")
    source.load()
    passed("file")
    with Session(gpu, source) as session:
        gpu.sync()
        passed("build")
        QualityWatch(session).frame(steady=False, held_back=False)
        renderer, target = Renderer(gpu, FORMAT), Offscreen(gpu, size)

        def frame(part: str, steps: bool) -> None:
            with gpu.frames.frame():
                session.apply()
                if steps:
                    session.advance()
                session.draw(renderer, target.view, size)
            gpu.sync()
            passed(part)

        for part, steps in (("image", False), ("again", False), ("step", True), ("next", True)):
            frame(part, steps)
    print(json.dumps(times))


if __name__ == "__main__":
    main()
