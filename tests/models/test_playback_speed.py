"""The playback speed changes how many steps the integrators take, never how long one is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vertigrad.gpu import Gpu
from vertigrad.headless import render
from vertigrad.models import Model, registry
from vertigrad.models.physics.gravity_bodies import GravityModel
from vertigrad.session import STEP, Session

from .extremes import SMALL, physics

# Frames and their playback speeds, which all last as long. Half a frame may end between two steps.
RUNS = ((6, 1.0), (2, 3.0), (12, 0.5))


def run(kind: type[Model], values: dict[str, Any], frames: int, dt: float) -> dict[str, np.ndarray]:
    model = kind("model", kind.Params.parse(values), {}, 0)
    try:
        for _ in range(frames):
            model.step(dt)
        return {name: tensor.numpy() for name, tensor in model.outputs().items()}
    finally:
        model.close()


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", physics())
def test_the_playback_speed_does_not_change_the_result(gpu: Gpu, name: str) -> None:
    """The same bits at any speed. N-body divides the time of a frame evenly: at a higher speed into more steps."""
    kind = registry.types()[name]
    expected, *others = (run(kind, SMALL[name], frames, speed * STEP) for frames, speed in RUNS)
    for (_, speed), found in zip(RUNS[1:], others, strict=True):
        for output in expected:
            if speed < 1.0 and issubclass(kind, GravityModel):  # shorter steps, so a smaller error
                assert np.median(np.abs(found[output] - expected[output])) < 2e-3
            else:
                np.testing.assert_array_equal(found[output], expected[output], f"{output} at speed {speed}")


@pytest.mark.parametrize("name", ["nbody", "nbody_barnes_hut"])
def test_steps_of_nbody_are_never_longer_at_a_higher_speed(gpu: Gpu, name: str, monkeypatch) -> None:
    kind = registry.types()[name]
    model = kind("model", kind.Params.parse(SMALL[name]), {}, 0)
    try:
        longest = model.max_time_step  # type: ignore[attr-defined]
        for speed in np.geomspace(0.01, 20.0, 30):
            steps, length = model.clocks[0].divide(speed * STEP * 3.0, longest)
            assert length <= longest * (1.0 + 1e-6)
            assert steps * length == pytest.approx(speed * STEP * 3.0), "no time is dropped"
    finally:
        model.close()


def test_a_render_drops_no_time_at_any_speed(steady: Gpu, tmp_path) -> None:
    """At a speed that a window could not follow, headless runs take all steps that are due."""
    scene = tmp_path / "cloth.toml"
    scene.write_text(
        'version = 1\n[models.m]\ntype = "cloth"\nresolution = 3\nstretch = 500\n'
        "solver_substeps = 1\nself_collision = false\n"
        '[layers.l]\ntype = "points"\nposition = "m.position"\n'
    )
    positions = []
    for frames, speed in ((80, 1.0), (2, 40.0)):
        with Session(steady, scene) as session:
            session.clock.set_speed(speed)
            render(session, frames, (1, 1), draw=False)
            positions.append(session.stage.instances["m"].outputs["position"].numpy())
            assert session.limits.exceeded == ()
    np.testing.assert_array_equal(*positions)
