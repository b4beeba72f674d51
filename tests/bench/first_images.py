"""The time to the first image of the packaged scenes, each in a process of its own, divided into its parts.

    python -m tests.bench.first_images [SCENE ...] [--size 1280 720] [--cold] [--window]

The image is the one that a window shows first: of the models' start, at the quality with which windows begin. `wall`
and `cpu` are seconds up to it, the former from the start of the process, the latter of all threads: on a machine with
other work the time is between half of `cpu`, for two processors, and `cpu`. The parts are CPU seconds too, up to the
end of their work on the GPU: imports, the device, the scene's file, models and layers, the image. What comes after it:
`again` is the same image once more, so that `image` less `again` is what pipelines took; then the first step of the
models, and the `next`. With `--window` the scene is opened in a real window instead, as `vertigrad run` does it, and
there are `wall` and `cpu` alone, up to when it was presented. Modules are compiled before, as those of an installed
package are; with `--cold` Mesa has no pipelines of earlier runs on the disk, without it run this twice after a change.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BOUND = 8.0  # CPU seconds of all threads up to the first image, which other work on the processors makes twice as many
PARTS = ("imports", "device", "file", "build", "image", "again", "step", "next")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", nargs="*")
    parser.add_argument("--size", type=int, nargs=2, default=(1280, 720))
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--window", action="store_true")
    parser.add_argument("--began", type=float, help=argparse.SUPPRESS)  # for the process that is measured
    arguments = parser.parse_args()
    size = arguments.size[0], arguments.size[1]
    if arguments.began:
        print(json.dumps((window if arguments.window else parts)(arguments.scenes[0], size, arguments.began)))
        return
    names = arguments.scenes or sorted(path.stem for path in (ROOT / "scenes").glob("*.toml"))
    columns = ("scene", "load", "wall", "cpu", *(() if arguments.window else PARTS))
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns), flush=True)
    for name in names:
        print(row(name, size, arguments.cold, arguments.window), flush=True)


def row(scene: str, size: tuple[int, int], cold: bool, in_window: bool) -> str:
    """The table's row of a scene, measured in a new process; an error instead of times if that fails."""
    load = os.getloadavg()[0]
    try:
        times = measured(scene, size, cold, in_window)
    except RuntimeError as error:
        return f"| {scene} | {load:.1f} | {error} |"
    passed = [cpu for _, cpu in times.values()]
    each = () if in_window else (b - a for a, b in zip([0.0, *passed], passed, strict=False))
    return f"| {scene} | " + " | ".join(f"{value:.1f}" for value in (load, *times["image"], *each)) + " |"


def measured(
    scene: str, size: tuple[int, int] = (1280, 720), cold: bool = False, in_window: bool = False
) -> dict[str, tuple[float, float]]:
    """The wall-clock and the CPU seconds up to the end of each part, in a new process. Raises `RuntimeError`."""
    with tempfile.TemporaryDirectory() as empty:
        stored = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": _compiled_modules()}
        environment = os.environ | stored | ({"MESA_SHADER_CACHE_DIR": empty} if cold else {})
        program = [sys.executable, "-m", "tests.bench.first_images", scene, "--size", *map(str, size)]
        command = [*program, *(["--window"] if in_window else []), "--began", repr(time.time())]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return json.loads(done.stdout.splitlines()[-1])


@cache
def _compiled_modules() -> str:
    """The folder where Python finds all modules compiled; a process has put them there."""
    folder = str(Path(tempfile.gettempdir()) / "vertigrad-first-images")
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": folder}
    modules = (
        "import vertigrad.cli.running, vertigrad.viewer, tests.bench.first_images; vertigrad.cli.running.open_gpu('')"
    )
    subprocess.run([sys.executable, "-c", modules], check=True, cwd=ROOT, env=environment, capture_output=True)
    return folder


def window(scene: str, size: tuple[int, int], began: float) -> dict[str, tuple[float, float]]:
    """The time at which the scene was presented in a window."""
    from vertigrad.collector import paused

    with paused(freeze=True):
        from vertigrad.cli.running import open_session

    with open_session(scene, [], None, "", ahead=True) as session:
        with paused():
            from vertigrad.viewer.loop import Viewer

        with Viewer(session, size, vsync=False) as viewer:
            while not viewer.frame() or session.loading is not None:
                pass
            session.gpu.sync()
            return {"image": (time.time() - began, time.process_time())}


def parts(scene: str, size: tuple[int, int], began: float) -> dict[str, tuple[float, float]]:
    """The time at the end of each part, without a window."""
    times: dict[str, tuple[float, float]] = {}

    def passed(part: str) -> None:
        times[part] = time.time() - began, time.process_time()

    from vertigrad.collector import paused

    with paused(freeze=True):
        import vertigrad
        from vertigrad.cli import render  # noqa: F401
        from vertigrad.headless.offscreen import FORMAT, Offscreen
        from vertigrad.renderer.renderer import Renderer
        from vertigrad.session import Session
        from vertigrad.session.commands import SetQuality
        from vertigrad.session.quality import AutoQuality, first_level
        from vertigrad.session.running import SceneSource

    passed("imports")
    gpu = vertigrad.gpu()
    passed("device")
    source = SceneSource(ROOT / "scenes" / f"{scene}.toml")
    scene = source.load()
    passed("file")
    with Session(gpu, source, scene=scene) as session:
        gpu.sync()
        passed("build")
        session.carry_out(SetQuality(AutoQuality(first_level(gpu.adapter.kind)).quality))
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
    return times


if __name__ == "__main__":
    main()
