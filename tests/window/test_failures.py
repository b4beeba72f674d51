"""Errors anywhere: the window stays open, the simulation pauses, and the error is shown and logged."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from contextlib import closing

import numpy as np
import pytest
from imgui_bundle import imgui, implot

from vertigrad import resources
from vertigrad.headless.outputs import open_output
from vertigrad.panels import gui as gui_module
from vertigrad.panels.performance import PerformancePanel
from vertigrad.panels.run import RunPanel
from vertigrad.session.commands import Play, Reload, Step

from .desktop import RIGHT
from .driver import Driver, Items, Rows


class Boom(Exception):
    """An error type unknown to the program."""


@pytest.fixture
def driver(opened: Callable[..., Driver], tmp_path, monkeypatch) -> Driver:
    monkeypatch.setenv("VERTIGRAD_CONFIG_DIR", str(tmp_path / "state"))
    return opened("nbody", "galaxy.count=64", size=(900, 600), playing=True)


def raise_boom(*arguments: object, **options: object) -> None:
    raise Boom("on purpose")


def once(monkeypatch: pytest.MonkeyPatch, target: object, name: str) -> None:
    """Let the next call raise; later calls work as before."""
    real, left = getattr(target, name), [True]

    def first_raises(*arguments, **options):
        if left.pop() if left else False:
            raise Boom("on purpose")
        return real(*arguments, **options)

    monkeypatch.setattr(target, name, first_raises)


class Explode:
    topic = "test"

    def apply(self, session: object) -> None:
        raise_boom()


STAGES = {
    "input": lambda driver: (driver.viewer.window, "poll"),
    "step": lambda driver: (driver.session.stage, "step"),
    "diagnostics": lambda driver: (driver.viewer, "_measure"),
    "watches": lambda driver: (driver.session, "request_readbacks"),
    "camera": lambda driver: (driver.session.cameras, "advance"),
    "panels": lambda driver: (gui_module, "dock_space"),
    "panel Run": lambda driver: (RunPanel, "draw"),
    "menu": lambda driver: (gui_module, "draw_menu"),
    "dialogs": lambda driver: (driver.viewer.gui._dialogs, "draw"),
    "draw": lambda driver: (driver.session, "draw"),
    "gui draw": lambda driver: (driver.viewer.gui, "draw"),
    "capture frame": lambda driver: (driver.viewer._capture, "capture_frame"),
    "present": lambda driver: (driver.viewer.window, "present"),
    "capture": lambda driver: (driver.viewer._capture, "collect"),
}


@pytest.mark.turns(2)
@pytest.mark.parametrize("stage", STAGES)
def test_an_error_in_any_stage_of_a_frame_pauses_the_run_and_is_shown(driver: Driver, monkeypatch, stage: str):
    session = driver.session
    driver.frames(3)
    once(monkeypatch, *STAGES[stage](driver))
    driver.frames(2)
    (failure,) = driver.expected_failures()
    assert "Boom: on purpose" in failure.message and "raise Boom" in failure.trace
    assert not session.playing, "the run is paused"
    log = resources.log_file().read_text()
    assert "Boom: on purpose" in log and "Traceback" in log
    before = session.frame
    session.post(Play(True))
    driver.frames(4)
    assert session.frame > before and session.playing, "it continues when the user resumes"
    assert not driver.expected_failures()[1:]


def test_a_command_that_raises_does_not_affect_later_ones(driver: Driver):
    session = driver.session
    session.post(Explode())
    session.post(Step(2))
    driver.frames(4)
    (failure,) = driver.expected_failures()
    assert failure.stage == "command Explode" and not session.playing


def test_the_traceback_is_shown_copied_and_dismissed(driver: Driver, items: Items, monkeypatch):
    copied: list[str] = []
    driver.session.post(Explode())
    driver.frames()
    assert items.find("Dismiss") and items.find("Copy")
    monkeypatch.setattr(imgui, "set_clipboard_text", copied.append)
    driver.click(items.at("Copy"))
    assert "Boom: on purpose" in copied[0] and "in apply" in copied[0]
    driver.click(items.at("Dismiss"))
    assert not driver.session.failures.shown and not items.find("Dismiss")
    assert len(driver.expected_failures()) == 1


def half_drawn(self: object, session: object) -> None:
    imgui.push_style_var(imgui.StyleVar_.alpha.value, 0.5)
    imgui.push_style_color(imgui.Col_.text.value, imgui.ImVec4(1.0, 0.0, 0.0, 1.0))
    imgui.push_font(None, 30.0)
    imgui.push_id("left open")
    imgui.begin_disabled()
    imgui.begin_group()
    imgui.begin_child("##inner")
    imgui.begin_table("##table", 2)
    implot.begin_plot("##plot")
    raise Boom("half drawn")


def test_a_panel_that_fails_shows_its_error_and_the_other_panels_are_unchanged(
    driver: Driver, items: Items, monkeypatch, caplog
):
    driver.session.post(Play(False))
    driver.frames()
    good = driver.image()
    real = RunPanel.draw
    monkeypatch.setattr(RunPanel, "draw", half_drawn)
    with caplog.at_level(logging.ERROR, "vertigrad"):
        driver.frames(20)
    assert len([record for record in caplog.records if "half drawn" in record.getMessage()]) == 1
    assert len(driver.expected_failures()) == 1 and items.find("Try again")
    monkeypatch.setattr(RunPanel, "draw", real)
    driver.click(items.at("Dismiss"))
    driver.click(items.at("Try again"))
    driver.desktop.move(450, 300)
    driver.frames()
    assert np.abs(driver.image() - good).mean() < 0.5, "everything is restored"


def test_a_plot_that_fails_does_not_affect_the_next_ones(driver: Driver, monkeypatch):
    workspace = driver.viewer.gui.workspace
    workspace.show(PerformancePanel.title)
    driver.frames()
    monkeypatch.setattr(RunPanel, "draw", half_drawn)
    driver.frames(5)
    assert len(driver.expected_failures()) == 1
    assert not driver.viewer.gui._boundary.failed.keys() - {"Run"}


def test_an_error_that_occurs_in_every_frame_is_logged_once(driver: Driver, monkeypatch, caplog):
    monkeypatch.setattr(driver.session, "request_readbacks", raise_boom)
    with caplog.at_level(logging.ERROR, "vertigrad"):
        driver.frames(12)
    assert len([record for record in caplog.records if "on purpose" in record.getMessage()]) == 1
    (failure,) = driver.expected_failures()
    assert failure.count >= 10


def test_panels_are_drawn_when_the_viewport_fails(driver: Driver, items: Items, monkeypatch):
    """The frame and its step are dropped; later frames show the error."""
    session, real = driver.session, driver.session.draw
    driver.frames(3)
    monkeypatch.setattr(session, "draw", raise_boom)
    frame, time = session.frame, session.time
    driver.viewer.frame()
    assert (session.frame, session.time) == (frame, time) and not session.gpu.recorder.pending
    driver.frames(6)
    assert items.find("Dismiss") and driver.desktop.screenshot()[:600, :900].max() > 100
    monkeypatch.setattr(session, "draw", real)
    driver.viewer._retry_at = 0.0
    driver.click(items.at("Dismiss"))
    assert driver.image()[300:400, 300:500].max() > 60, "the image is drawn again"
    driver.expected_failures()


def test_a_dropped_frame_reverts_its_steps_bit_for_bit(driver: Driver, monkeypatch):
    session, real = driver.session, driver.session.draw
    position = session.stage.instances["galaxy"].outputs["star_position"]

    def states(count: int) -> list[np.ndarray]:
        found = []
        for _ in range(count):
            session.post(Step())
            driver.viewer.frame()
            found.append(session.stage.instances["galaxy"].outputs["star_position"].numpy())
        return found

    session.post(Play(False))
    driver.frames(2)
    session.clock.set_rewind_memory(64 << 20)
    start = session.frame
    expected = states(4)
    session.clock.go_to(start)
    driver.frames(2)
    first = states(2)
    monkeypatch.setattr(session, "draw", raise_boom)
    session.post(Step())
    driver.viewer.frame()
    assert session.frame == start + 2
    monkeypatch.setattr(session, "draw", real)
    driver.viewer._retry_at = 0.0
    for got, state in zip([*first, *states(2)], expected, strict=True):
        assert np.array_equal(got, state)
    assert position is session.stage.instances["galaxy"].outputs["star_position"]
    driver.expected_failures()


def test_an_error_before_the_first_frame_raises(driver: Driver, monkeypatch):
    monkeypatch.setattr(driver.viewer, "_acquired", False)
    monkeypatch.setattr(driver.viewer.window, "acquire", raise_boom)
    with pytest.raises(Boom):
        driver.viewer.frame()


def test_the_menu_of_a_parameter_whose_model_is_renamed(opened, tmp_path, rows: Rows, items: Items):
    text = resources.path("scenes", "neural_field.toml").read_text()
    scene = tmp_path / "mine.toml"
    scene.write_text(re.sub(r"resolution = \d+", "resolution = 24", text))
    driver = opened(scene, size=(900, 700))
    driver.desktop.move(*rows.at("height"))
    driver.frames(2)
    driver.desktop.click(RIGHT)
    driver.frames()
    assert items.find("Copy value")
    scene.write_text(scene.read_text().replace("models.terrain", "models.land").replace('"terrain.', '"land.'))
    driver.session.post(Reload())
    driver.frames()
    assert "land" in driver.session.stage.instances and not driver.session.messages
    assert not items.find("Copy value"), "the menu is closed"


def test_a_damaged_video_stops_the_run_and_is_named(opened, tmp_path):
    """It is damaged in the middle: the part that is read when the scene is opened is valid."""
    with closing(open_output(tmp_path / "clip.mp4", (64, 48))) as output:
        for frame in range(60):
            output.put(frame, np.random.default_rng(frame).integers(0, 255, (48, 64, 4), np.uint8))
    content = bytearray((tmp_path / "clip.mp4").read_bytes())
    start = content.index(b"mdat")
    middle = start + (len(content) - start) * 2 // 3
    content[middle : middle + 3000] = b"\xff" * 3000
    (tmp_path / "clip.mp4").write_bytes(content)
    (tmp_path / "scene.toml").write_text(
        'version = 1\n[models.clip]\ntype = "video"\nfile = "clip.mp4"\n'
        '[layers.film]\ntype = "image"\npixels = "clip.pixels"\n'
    )
    driver = opened(tmp_path / "scene.toml", size=(400, 300), playing=True)
    driver.frames_until(lambda: driver.session.messages, most=300)
    assert "clip.mp4" in driver.session.messages["step"] and not driver.session.playing
    driver.frames()
    assert not driver.viewer.closed
