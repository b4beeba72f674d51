"""Files are edited while the window is open: valid edits are shown, errors are reported until they are fixed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ..session.projects import copied_project
from .driver import Driver

RELOAD_LIMIT = 60.0  # seconds until an edit is detected on a busy machine; on an idle one a quarter of a second


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of shaders and scenes, in place of the packaged ones."""
    with copied_project(tmp_path, monkeypatch) as root:
        yield root


def frames_until(driver: Driver, condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + RELOAD_LIMIT
    while not condition():
        assert time.monotonic() < deadline, f"not detected: {driver.session.messages}"
        driver.frames(1)
        time.sleep(0.01)
    driver.frames()


@pytest.fixture
def terrain(opened, project: Path) -> Driver:
    driver = opened(project / "scenes" / "neural_field.toml", panels=False)
    driver.session.hot_reload.on = True
    driver.frames_for(0.3)
    return driver


@pytest.mark.turns(2)
def test_a_shader_with_an_error_that_is_then_fixed(terrain: Driver, project: Path):
    session, good = terrain.session, terrain.image()
    file = project / "shaders" / "models" / "neural_field.wgsl"
    text = file.read_text()
    line = text[: text.index("sway * sines")].count("\n") + 1
    file.write_text(text.replace("let sway", "let away"))
    frames_until(terrain, lambda: session.messages)
    message = session.messages["shaders"]
    assert message.startswith(f"shaders/models/neural_field.wgsl:{line}: no definition in scope for identifier: `sway`")
    shown = terrain.image()
    assert np.abs(shown - good)[300:, 100:540].mean() > 10.0, "it is drawn over the image"
    assert np.array_equal(shown[:250], good[:250]), "the last good shader continues"
    terrain.key("n")
    assert session.frame == 1 and session.messages
    file.write_text(text)
    frames_until(terrain, lambda: not session.messages)
    terrain.key("r")
    assert np.array_equal(terrain.image(), good)


def test_an_edit_of_a_shader_is_shown_and_keeps_the_state(opened, project: Path):
    driver = opened(project / "scenes" / "nbody.toml", "galaxy.count=100", playing=True, panels=False)
    session = driver.session
    session.hot_reload.on = True
    driver.frames_for(0.4)
    model, frame = session.stage.instances["galaxy"].model, session.frame
    file = project / "shaders" / "models" / "nbody.wgsl"
    text = file.read_text()
    file.write_text(text.replace("+ velocity * params.dt", "+ velocity * params.dt * 0.0"))
    position = session.stage.instances["galaxy"].outputs["position"]

    def stands_still() -> bool:
        before = position.numpy()
        driver.frames(2)
        return np.array_equal(before, position.numpy())

    frames_until(driver, stands_still)
    assert session.stage.instances["galaxy"].model is model and session.frame > frame
    assert session.messages == {}


@pytest.mark.turns(2)
def test_a_scene_replaced_by_a_rename_moves_the_slider(opened, project: Path):
    """As editors save atomically: to a temporary file that is then renamed."""
    scene = project / "scenes" / "neural_field.toml"
    driver: Driver = opened(scene, panels=False)
    session = driver.session
    session.hot_reload.on = True
    driver.key("n")
    driver.frames_for(0.3)
    before, yaw = driver.image(), session.camera.yaw
    session.camera.orbit(0.2, 0.0)
    model = session.stage.instances["terrain"].model
    new = scene.with_suffix(".tmp")
    new.write_text(scene.read_text().replace("height = 0.3", "height = 0.8"))
    os.replace(new, scene)
    frames_until(driver, lambda: session.stage.instances["terrain"].params.height == 0.8)
    assert session.stage.instances["terrain"].model is model and session.frame == 1
    assert session.camera.yaw == pytest.approx(yaw + 0.2)
    assert session.messages == {}
    assert np.abs(driver.image() - before).mean() > 2.0


def test_a_file_that_is_empty_for_a_moment_is_not_an_error(opened, project: Path):
    scene = project / "scenes" / "neural_field.toml"
    driver: Driver = opened(scene, panels=False)
    session, text = driver.session, scene.read_text()
    session.hot_reload.on = True
    driver.frames_for(0.3)
    scene.write_text("")
    driver.frames_for(0.4)
    assert session.messages == {}
    scene.write_text(text.replace("height = 0.3", "height = 0.8"))
    frames_until(driver, lambda: session.stage.instances["terrain"].params.height == 0.8)
    assert session.messages == {}
