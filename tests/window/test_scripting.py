"""A script's viewer in a window: buttons, keys and picking by real input, plots, and errors of callbacks."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import OpenEXR
import pytest
from pxr import Usd

import vertigrad as vg
from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.panels import pacing
from vertigrad.session import quality
from vertigrad.viewer import loop

from .desktop import Desktop
from .driver import GUI_FRAMES, Items

POINTS = np.float32([[-1, 0, 0], [0, 0, 0], [1, 0.5, 0]])


class Script:
    """A viewer of a script in a window of the test's screen."""

    def __init__(self, viewer: vg.Viewer, desktop: Desktop):
        self.viewer, self.desktop = viewer, desktop
        self.frames()

    @property
    def window(self) -> loop.Viewer:
        assert self.viewer._window is not None
        return self.viewer._window

    def frames(self, count: int = GUI_FRAMES) -> None:
        for _ in range(count):
            self.viewer.update()

    def until(self, condition: Callable[[], object], most: int = 60) -> None:
        for _ in range(most):
            if condition():
                return
            self.viewer.update()
        assert condition(), f"not within {most} frames"

    def click(self, x: float, y: float) -> None:
        self.desktop.move(x, y)
        self.frames(2)
        self.desktop.click()
        self.frames()

    def pixel(self, point: np.ndarray) -> tuple[float, float]:
        """The pixel of a world position in the window."""
        left, top, width, height = self.window.gui.viewport
        camera = self.viewer.session.camera
        clip = camera.projection(width / height) @ camera.view() @ np.append(point, 1.0)
        x, y = clip[:2] / clip[3]
        return left + (x + 1) / 2 * width, top + (1 - y) / 2 * height


@pytest.fixture
def script(desktop: Desktop, steady: Gpu, monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    monkeypatch.setattr(loop, "IDLE_AFTER", math.inf)
    monkeypatch.setattr(quality, "FEWEST", math.inf)
    with vg.Viewer("Vertigrad of a script", (1100, 700)) as viewer:
        yield Script(viewer, desktop)


def test_a_click_on_a_button_calls_its_function(script: Script, items: Items) -> None:
    calls = []
    viewer = script.viewer
    viewer.slider("rate", 0.5)
    again, stop = viewer.button("Again", lambda: calls.append("again")), viewer.button("Stop")
    script.frames()
    script.click(*items.at("Again##script"))
    script.until(lambda: calls)
    assert calls == ["again"] and again.clicked and not stop.clicked
    script.click(*items.at("Stop##script"))
    script.until(lambda: stop.clicks)
    assert stop.clicked and calls == ["again"]


@pytest.mark.turns(2)
def test_keys_of_the_script_come_before_those_of_the_program(script: Script) -> None:
    pressed = []
    viewer = script.viewer
    viewer.points("cloud", position=POINTS)
    for key in ("space", "r", "ctrl+left"):
        viewer.on_key(key, lambda key=key: pressed.append(key))
    playing = viewer.session.playing
    for key in ("space", "r", "ctrl+Left"):
        script.desktop.key(key)
        script.frames()
    script.until(lambda: len(pressed) == 3)
    assert pressed == ["space", "r", "ctrl+left"]
    assert viewer.session.playing is playing


@pytest.mark.turns(2)
def test_a_click_on_a_point_is_reported_with_its_position(script: Script) -> None:
    picked = []
    viewer = script.viewer
    viewer.camera(position=(0, 0, 6))
    viewer.points("cloud", position=POINTS, size=0.15)
    viewer.on_pick(picked.append)
    script.frames()
    for row in (2, 0, 0):
        script.click(*script.pixel(POINTS[row]))
        count = len(picked)
        script.until(lambda count=count: len(picked) >= count)
        script.frames()
    assert [(pick.layer, pick.row) for pick in picked] == [("cloud", 2), ("cloud", 0), ("cloud", 0)]
    assert picked[0].position == pytest.approx(tuple(POINTS[2]))


@pytest.mark.turns(2)
def test_an_error_in_a_callback_is_shown_and_the_window_continues(script: Script, items: Items, caplog) -> None:
    calls = []

    def fail() -> None:
        calls.append(1)
        raise ZeroDivisionError("of the callback")

    viewer = script.viewer
    viewer.points("cloud", position=POINTS)
    viewer.button("Fail", fail)
    script.frames()
    script.click(*items.at("Fail##script"))
    script.until(lambda: calls)
    (failure,) = viewer.session.failures.shown
    assert failure.stage == "callback of button 'Fail'"
    assert "of the callback" in failure.message and "in fail" in failure.trace
    assert "of the callback" in caplog.text
    script.frames(10)
    assert not viewer.closed and not viewer.session.clock.moves
    assert items.find("Dismiss") or items.find("Copy")


@pytest.mark.turns(2)
def test_a_plot_is_drawn_in_the_watch_panel(script: Script) -> None:
    viewer = script.viewer
    viewer.points("cloud", position=POINTS)
    script.frames()
    before = script.desktop.screenshot()
    plot = viewer.plot("loss", log=True)
    steps = np.arange(60)
    plot.set(steps, train=np.exp(-steps / 10.0), test=0.1 + np.exp(-steps / 12.0))
    script.frames(20)
    assert "Watch" in script.window.gui.workspace.visible_panels
    shown = script.desktop.screenshot()
    assert np.abs(shown.astype(int) - before).max() > 100


@pytest.mark.turns(2)
def test_a_gizmo_is_shown_and_moves_the_control(script: Script) -> None:
    viewer = script.viewer
    viewer.camera(position=(0, 0, 6))
    source = viewer.vector("source", (0, 0, 0), gizmo=True)
    script.frames()
    assert script.window.gui.handles is not None
    x, y = script.pixel(np.zeros(3))
    script.desktop.move(x + 60, y)
    script.frames(2)
    script.desktop.press()
    script.frames(2)
    for dx in (80, 100, 120):
        script.desktop.move(x + dx, y)
        script.frames(2)
    script.desktop.release()
    script.frames()
    assert source.value[0] > 0.1 and source.value[1:] == pytest.approx((0.0, 0.0), abs=1e-5)
    viewer.gizmo(None)
    script.frames()
    assert script.window.gui.handles is None


def test_a_second_window_is_rejected_and_the_first_continues(script: Script) -> None:
    with pytest.raises(InputError, match="a window is open already"):
        vg.Viewer("Vertigrad, second")
    with vg.Viewer("offscreen", (64, 48), offscreen=True) as other:
        other.points("cloud", position=POINTS, size=0.3)
        other.update()
        assert other.image().std() > 1
    script.frames()
    assert not script.viewer.closed


def test_the_close_button_ends_the_loop(script: Script) -> None:
    turns = 0
    for step in script.viewer.frames():
        turns = step.number
        if turns == 3:
            script.desktop.press_close_button(script.desktop.windows()[-1])
        assert turns < 200
    assert turns >= 3


def test_only_models_with_steps_have_seeds(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    labels: list[str] = []
    row = pacing.edit_row

    def edit_row(label: str, *arguments: Any) -> Any:
        labels.append(label)
        return row(label, *arguments)

    monkeypatch.setattr(pacing, "edit_row", edit_row)
    script.viewer.points("cloud", position=POINTS)
    script.frames(1)
    assert labels == []
    script.viewer.add_model("flock", count=64)
    script.frames(1)
    assert labels == ["seed"]


# while a turn computes ------------------------------------------------------------------------------------------------


def computing(until: Callable[[], object], seconds: float = 20.0) -> bool:
    """Python code that takes long; whether `until` came true meanwhile."""
    end, total = time.monotonic() + seconds, 0.0
    while time.monotonic() < end and not until():
        total += float(np.ones(100).sum())
    return bool(until())


def test_events_are_taken_while_a_turn_computes(script: Script, items: Items) -> None:
    viewer, window = script.viewer, script.window
    button = viewer.button("Again")
    script.frames()
    position = items.at("Again##script")
    for step in viewer.frames(3):
        if step.number == 1:
            script.desktop.move(*position)
            since = time.perf_counter()
            assert computing(lambda since=since: window._events.last_event > since)
            frame = window._gpu.tracker.frame
            script.desktop.click()
            since = time.perf_counter()
            assert computing(lambda since=since: window._events.last_event > since)
            assert window._gpu.tracker.frame == frame and button.clicks == 0  # it takes effect in the next frames
    script.until(lambda: button.clicks)
    assert button.clicks == 1


def test_the_window_answers_the_desktop_while_a_turn_computes(script: Script) -> None:
    """The close button is noted during the turn: a desktop asks in the same way whether the program responds."""
    turns = 0
    for _ in script.viewer.frames(50):
        turns += 1
        if turns == 2:
            script.desktop.press_close_button(script.desktop.windows()[-1])
            assert computing(lambda: script.window.window.closed)
    assert turns < 10


def test_no_events_are_polled_within_a_frame_or_after_the_end(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    pump = script.viewer._pump
    assert pump is not None
    with pump.frame():
        polls = pump.polls
        assert not computing(lambda: pump.polls > polls, 0.5)
    assert computing(lambda: pump.polls > polls)
    script.viewer.close()
    polls = pump.polls
    assert not computing(lambda: pump.polls > polls, 0.5)


def test_ctrl_c_reaches_the_loop_and_errors_of_input_are_shown(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    viewer, window, calls = script.viewer, script.window.window, []

    def fail() -> None:
        calls.append(1)
        raise KeyboardInterrupt if len(calls) == 1 else ValueError("of the input")

    monkeypatch.setattr(window, "poll", fail)
    with pytest.raises(KeyboardInterrupt):
        computing(lambda: False)
    assert computing(lambda: viewer.session.failures.shown)
    monkeypatch.undo()
    (failure,) = viewer.session.failures.shown
    assert failure.stage == "input" and "of the input" in failure.message


def test_a_window_is_recorded(script: Script, tmp_path) -> None:
    viewer = script.viewer
    cloud = viewer.points("cloud", position=POINTS, size=0.1)
    viewer.camera(position=(0, 0, 6))
    with viewer.record(tmp_path / "a.usdc"), viewer.record(tmp_path / "%d.exr", (96, 64), depth=True):
        for step in viewer.frames(2):
            cloud.position = POINTS + step.number
    stage = Usd.Stage.Open(str(tmp_path / "a.usdc"))
    points = stage.GetPrimAtPath("/World/cloud").GetAttribute("points")
    assert [np.allclose(points.Get(frame), POINTS + frame) for frame in range(2)] == [True, True]
    with OpenEXR.File(str(tmp_path / "0.exr")) as file:
        depth = file.channels()["Z"].pixels
    assert depth.shape == (64, 96) and 5.0 < depth[np.isfinite(depth)].min() < 6.0
    assert (tmp_path / "1.exr").exists()
