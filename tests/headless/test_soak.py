"""Thousands of frames in which everything changes: nothing may accumulate, in GPU memory or host memory."""

from __future__ import annotations

import gc
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vertigrad import resources
from vertigrad.gpu import Gpu
from vertigrad.gpu.kernel import CACHED_GROUPS
from vertigrad.headless import Offscreen
from vertigrad.headless.offscreen import FORMAT
from vertigrad.params import ParamSpec
from vertigrad.renderer import Renderer
from vertigrad.session import Session
from vertigrad.session.commands import Orbit, Play, Reload, Reset, SetParameter, SetSpeed, Step, Zoom

from ..session.running import LINKED, use_models, written
from .measures import held, objects, resident

LAPS, FRAMES = 3, 240
MORE_RESIDENT = 40 << 20  # bytes that the process may grow by after the second lap; a new kernel takes 1 or 2 MB
SIZES = ("count", "resolution")  # the parameters that reshape tensors and are quickly rebuilt
# Caches still grow after the second lap: by fewer objects than the window is resized, models are rebuilt or
# scenes are reloaded in the other laps. Each kernel has a cache of bind groups.
MORE_OBJECTS = 50


def drawn(spec: ParamSpec, dice: random.Random) -> Any:
    """A value for a parameter, small where it is a size."""
    low = spec.slider_min if spec.slider_min is not None else spec.min if spec.min is not None else -1.0
    high = spec.slider_max if spec.slider_max is not None else spec.max if spec.max is not None else low + 10.0
    match spec.kind:
        case "integer":
            return dice.randint(4, 48)
        case "number" | "angle":
            return dice.uniform(low, high)
        case "switch":
            return dice.random() < 0.5
        case "choice":
            return dice.choice(spec.choices)
        case "color":
            return tuple(dice.random() for _ in range(3))
        case "interval":
            return "auto" if "auto" in spec.words and dice.random() < 0.5 else (0.0, dice.uniform(0.1, 5.0))
    return spec.default


def parameter(session: Session, dice: random.Random, rebuild: bool) -> SetParameter:
    """A change of some parameter; sometimes to a value that is rejected."""
    known = [
        (owner, spec)
        for owner, params in session.parameters().items()
        for spec in params.specs()
        if spec.rebuild == rebuild and (spec.name in SIZES if rebuild else spec.kind != "file")
    ]
    owner, spec = dice.choice(known)
    return SetParameter(owner, spec.name, "no such value" if dice.random() < 0.1 else drawn(spec, dice))


def post_something(session: Session, dice: random.Random, scenes: list[Path]) -> None:
    kinds: list[tuple[float, Callable[[], Any]]] = [
        (0.30, lambda: parameter(session, dice, rebuild=False)),
        (0.20, lambda: Orbit(dice.uniform(-1, 1), dice.uniform(-1, 1))),
        (0.10, lambda: Zoom(dice.uniform(0.8, 1.25), (dice.uniform(-1, 1), 0.0), 1.5)),
        (0.08, lambda: parameter(session, dice, rebuild=True)),
        (0.04, lambda: Reload(restart=True)),
        (0.04, lambda: Reload(dice.choice(scenes))),
        (0.04, lambda: Play(dice.random() < 0.8)),
        (0.02, lambda: Step(3)),
        (0.02, lambda: Reset()),
        (0.02, lambda: SetSpeed(dice.uniform(0, 2))),
    ]
    for chance, command in kinds:
        if dice.random() < chance:
            session.post(command())


def lap(session: Session, renderer: Renderer, scenes: list[Path], seed: int) -> Counter[str]:
    """Frames with a window that changes its size and a scene in which everything changes."""
    gpu, dice = session.gpu, random.Random(seed)
    offscreen, happened = Offscreen(gpu, (64, 48)), Counter()
    for frame in range(FRAMES):
        if frame % 7 == 0:
            offscreen = Offscreen(gpu, (dice.randint(1, 160), dice.randint(1, 120)))
            happened["size"] += 1
        stage, scene = session.stage, session.scene
        instances = list(stage.instances.values())
        post_something(session, dice, scenes)
        with gpu.frames.frame():
            session.apply()
            session.advance()
            if frame % 16 == 0:
                session.measure()
            session.draw(renderer, offscreen.view, offscreen.size)
            if frame % 16 == 5:
                offscreen.read(lambda image: happened.update(["image"]))
        happened["reload"] += session.stage is not stage
        happened["another scene"] += session.scene.path != scene.path
        happened["rebuild"] += session.stage is stage and list(session.stage.instances.values()) != instances
        happened["message"] += bool(session.messages)
    return happened


def smaller(folder: Path, name: str, parameter: str, value: int) -> Path:
    """A copy of a packaged scene with a small count, so that it is fast."""
    text = resources.path("scenes", f"{name}.toml").read_text(encoding="utf-8")
    changed, times = re.subn(rf"^{parameter} = \d+", f"{parameter} = {value}", text, flags=re.MULTILINE)
    assert times == 1
    return written(folder, changed, f"{name}.toml")


def idle_session(session: Session, scene: Path) -> None:
    """`scene` as its file has it, and nothing in progress."""
    session.post(Reload(scene))
    session.apply()
    session.gpu.wait_idle()
    gc.collect()
    session.gpu.wait_idle()


@pytest.mark.turns(6)
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the memory of the process from /proc")
def test_hundreds_of_frames_leave_no_memory_allocated(steady: Gpu, tmp_path, monkeypatch):
    use_models(monkeypatch)
    before = held(steady)
    first = smaller(tmp_path, "nbody", "count", 48)
    scenes = [first, smaller(tmp_path, "neural_field", "resolution", 12), written(tmp_path, LINKED, "linked.toml")]
    broken = [written(tmp_path, LINKED.replace("gain", "gian"), "broken.toml"), tmp_path / "gone.toml"]

    with Session(steady, first) as session:
        renderer = Renderer(steady, FORMAT)
        idle_session(session, first)
        after_first_reload = held(steady)
        assert 40 < steady.tracker.live_bytes < 1 << 20
        counted: list[tuple[dict[str, int], int, int]] = []
        for seed in range(LAPS):
            happened = lap(session, renderer, scenes + broken, seed)
            assert happened["size"] > 25
            assert min(happened[kind] for kind in ("reload", "rebuild", "message", "image")) >= 8
            assert happened["another scene"] >= 1
            idle_session(session, first)
            assert held(steady) == after_first_reload, steady.tracker.leak_report()
            counted.append((objects(), steady.pool.held_bytes, resident()))
        (counts, pooled, memory), (last_counts, last_pooled, last_memory) = counted[1], counted[-1]
        for origin in ("python", "native"):
            assert last_counts[f"{origin} BindGroup"] < CACHED_GROUPS * last_counts[f"{origin} ComputePipeline"] + 50
        grown = {
            kind: last_counts[kind] - counts[kind] for kind in counts if kind.split()[1] not in ("BindGroup", "total")
        }
        assert max(grown.values()) < MORE_OBJECTS, grown
        assert last_pooled < 2 * pooled
        assert last_memory - memory < MORE_RESIDENT
    assert held(steady) == before


@pytest.mark.turns(6)
def test_no_edit_is_lost_when_allocations_fail_and_the_device_is_lost():
    """Runs in a subprocess, which loses its device: nothing may grow there either."""
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "tests.headless.soak"], cwd=root, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 blocks and 0 bytes grown" in done.stdout
    print(done.stdout)
