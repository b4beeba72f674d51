"""Fitting the camera at the start, where models write their positions in their first step."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vertigrad.gpu import Gpu
from vertigrad.headless.offscreen import FORMAT, Offscreen
from vertigrad.renderer.renderer import Renderer
from vertigrad.session import Session
from vertigrad.session.commands import Orbit, Pan, SetParameter

from .running import run_frame

SCENE = """
version = 1
[camera]
fit = true

[models.cloud]
type = "wgsl"
shader = "cloud.wgsl"
passes = [{ entry = "main", threads = 64 }]
[models.cloud.params]
shift = 40.0
[models.cloud.tensors]
position = { shape = [64, 3], init = INIT }

[layers.dots]
type = "points"
position = "cloud.position"
size = 0.3
"""
SHADER = """
struct Fields { dt: f32, time: f32, shift: f32 }
@group(0) @binding(0) var<uniform> fields: Fields;
@group(0) @binding(1) var<storage, read_write> position: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if fields.dt > 0.0 && fields.time >= WHEN {
        position[3u * id.x] = fields.shift + 0.1 * f32(id.x);
        position[3u * id.x + 1u] = f32(id.x % 2u);
        position[3u * id.x + 2u] = 0.0;
    }
}
"""
MIDDLE = (43.15, 0.5, 0.0)  # of the positions that the shader writes


@pytest.fixture
def opened(steady: Gpu, tmp_path: Path):
    """Opens a scene whose positions are `init` until a step begins at `when` [s]."""
    sessions: list[Session] = []

    def open_(init: str, when: float = 0.0) -> Session:
        (tmp_path / "cloud.wgsl").write_text(SHADER.replace("WHEN", f"{when:.4f}"))
        (tmp_path / "scene.toml").write_text(SCENE.replace("INIT", init))
        sessions.append(Session(steady, tmp_path / "scene.toml"))
        return sessions[-1]

    yield open_
    for session in sessions:
        session.close()


Open = Callable[..., Session]


@pytest.mark.parametrize("init", ["0", "[-1, 1]", "nan"])
def test_positions_of_the_first_step_are_framed_in_its_frame(steady: Gpu, opened: Open, init: str) -> None:
    session = opened(init)
    before = session.camera.target
    assert math.dist(before, MIDDLE) > 30.0
    offscreen, renderer = Offscreen(steady, (96, 64)), Renderer(steady, FORMAT)
    images: list[np.ndarray] = []
    with steady.frames.frame():
        session.apply()
        session.advance()
        session.draw(renderer, offscreen.view, offscreen.size)
        offscreen.read(images.append)
    steady.sync()
    while not images:
        steady.poll()
    assert session.camera.target == pytest.approx(MIDDLE, abs=1e-3)
    assert 3.0 < session.camera.distance < 20.0
    light = images[0][..., :3].max(axis=-1).astype(int)
    columns = np.flatnonzero((light > light.min() + 40).any(axis=0))
    assert columns.min() < 24 and columns.max() >= 72, "the dots extend across the image"


def test_fitting_waits_until_a_position_is_finite(opened: Open) -> None:
    session = opened("nan", when=2.5 / 60.0)
    at_home = session.camera.target
    for step in (1, 2, 3):
        run_frame(session)
        assert session.camera.target == at_home, step
    run_frame(session)
    assert session.camera.target == pytest.approx(MIDDLE, abs=1e-3)


def test_a_camera_moved_by_the_user_stays(opened: Open) -> None:
    session = opened("0")
    session.post(Pan(0.3, 0.0))
    session.apply()
    moved = session.camera.target
    run_frame(session)
    assert session.camera.target == moved


def test_a_camera_that_was_only_rotated_keeps_its_direction(opened: Open) -> None:
    session = opened("0")
    session.post(Orbit(0.4, 0.1))
    session.apply()
    yaw, pitch = session.camera.yaw, session.camera.pitch
    run_frame(session)
    assert session.camera.target == pytest.approx(MIDDLE, abs=1e-3)
    assert (session.camera.yaw, session.camera.pitch) == (yaw, pitch)


def test_small_changes_in_the_first_step_do_not_move_the_camera(opened: Open) -> None:
    session = opened("[-1, 1]", when=1.0)
    fitted = vars(session.camera).copy()
    for _ in range(3):
        run_frame(session)
    assert vars(session.camera) == fitted


def test_it_fits_once_and_not_after_later_steps(opened: Open) -> None:
    session = opened("0")
    run_frame(session)
    fitted = vars(session.camera).copy()
    session.post(SetParameter("models.cloud", "shift", 900.0))
    for _ in range(3):
        run_frame(session)
    assert vars(session.camera) == fitted


def test_a_step_of_zero_time_is_not_the_first_step(opened: Open) -> None:
    session = opened("0")
    session.playing = False
    session.post(SetParameter("models.cloud", "shift", 41.0))
    run_frame(session)
    session.playing = True
    run_frame(session)
    assert session.camera.target == pytest.approx((44.15, 0.5, 0.0), abs=1e-3)
