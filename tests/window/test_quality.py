"""Pictures in a window are drawn more cheaply while they take too long, and the panels say so."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from vertigrad.panels import performance, run
from vertigrad.renderer.quality import HIGH, LOW, MEDIUM, Level
from vertigrad.renderer.renderer import Renderer
from vertigrad.renderer.view import View
from vertigrad.session import quality
from vertigrad.session.capture import RecordingStatus
from vertigrad.session.commands import SetParameter
from vertigrad.session.quality import Quality
from vertigrad.session.statistics import Series
from vertigrad.viewer.capture import WindowCapture
from vertigrad.viewer.quality import QualityWatch

from .driver import Driver


class Drawn:
    """The levels of the pictures so far; those at the finest level take `seconds` longer."""

    def __init__(self) -> None:
        self.levels: list[Level] = []
        self.seconds = 0.0


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Drawn:
    """Pictures that may take long, and are judged sooner than usual."""
    drawn, draw = Drawn(), Renderer.draw

    def slowly(self: Renderer, *arguments: object) -> None:
        level = next(given for given in arguments if isinstance(given, Level))
        drawn.levels.append(level)
        time.sleep(drawn.seconds if level is HIGH else 0.0)
        draw(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Renderer, "draw", slowly)
    monkeypatch.setattr(quality, "SETTLING", 0.05)
    monkeypatch.setattr(quality, "WINDOW", 0.5)
    monkeypatch.setattr(quality, "FEWEST", 2)
    return drawn


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """What two panels say of the quality."""
    told: dict[str, list[str]] = {"run": [], "performance": []}

    def note(panel: Any, lines: list[str]) -> None:
        fact = panel.fact

        def noted(label: str, value: str, *more: Any, **other: Any) -> None:
            lines.extend([value] if label == "quality" else [])
            fact(label, value, *more, **other)

        monkeypatch.setattr(panel, "fact", noted)

    note(run, told["run"])
    note(performance, told["performance"])
    return told


def show(opened: Callable[..., Driver], sets: str, slow: Drawn, seconds: float) -> Driver:
    """A viewer whose pictures take `seconds` at the finest level, where four fifths of that are wanted."""
    driver = opened("neural_field", sets, playing=True)
    driver.viewer._quality = QualityWatch(driver.session)
    driver.session.set_pacing({"fps_limit": 1.25 / seconds, "unfocused_fps_limit": 0.0})
    slow.levels.clear()
    slow.seconds = seconds
    return driver


def test_slow_pictures_are_drawn_more_cheaply_and_the_panels_say_why(
    opened: Callable[..., Driver], slow: Drawn, told: dict[str, list[str]]
) -> None:
    driver = show(opened, "view.quality=auto", slow, 0.5)
    driver.viewer.gui.workspace.opened["Performance"] = True
    session = driver.session
    driver.frames_until(lambda: session.quality.level is MEDIUM)
    driver.frames(3)
    assert slow.levels[0] is HIGH and slow.levels[-1] is MEDIUM
    for panel, lines in told.items():
        assert lines[-1].startswith("auto: medium, ") and lines[-1].endswith(" ms of 400.0 ms"), panel
    assert not session.unsaved and not session.scene_edits.history.done

    session.post(SetParameter("view", "quality", "low"))
    driver.frames(2)
    assert slow.levels[-1] is LOW and session.unsaved


def test_a_level_that_is_named_stays_however_long_it_takes(opened: Callable[..., Driver], slow: Drawn) -> None:
    driver = show(opened, "view.quality=high", slow, 0.2)
    driver.frames(7)
    assert set(slow.levels) == {HIGH} and driver.session.quality.level is HIGH and driver.session.quality.ms == 0.0


def test_nothing_changes_while_a_video_is_recorded(
    opened: Callable[..., Driver], slow: Drawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = RecordingStatus(Path("rolling.mp4"), (64, 64), 1.0, 10)
    monkeypatch.setattr(WindowCapture, "recording", property(lambda capture: recording))
    driver = show(opened, "view.quality=auto", slow, 0.2)
    driver.frames(7)
    assert set(slow.levels) == {HIGH} and driver.session.quality.ms == 0.0


# where the GPU's times can be had -----------------------------------------------------------------------------------


def watched(model_ms: float, draw_ms: float, period: float, seconds: float = 10.0) -> Quality:
    """Frames whose passes are timed, one each `period` ms on a screen that shows 60 pictures a second."""
    timer = SimpleNamespace(available=True, latest={})
    timeline = SimpleNamespace(frame_ms=Series(8), cpu_ms=Series(8), target_ms=1000.0 / 60.0)
    session: Any = SimpleNamespace(
        gpu=SimpleNamespace(timer=timer, adapter=SimpleNamespace(kind="integrated")),
        timeline=timeline,
        quality=Quality(),
        post=lambda command: command.apply(session),
        view=View(),
        capture=None,
        scene=SimpleNamespace(path="scene.toml"),
        viewport_size=(64, 64),
        scene_edits=SimpleNamespace(revision=0),
    )
    watch, now = QualityWatch(session), 0.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "perf_counter", lambda: now)
        while now < seconds:
            now += period / 1e3
            timeline.frame_ms.append(period)
            timeline.cpu_ms.append(2.0)
            timer.latest = {"galaxy.step": model_ms, "layers": 0.8 * draw_ms, "post-process": 0.2 * draw_ms}
            watch.frame(steady=True, held_back=False)
    return session.quality


def test_times_of_the_gpu_tell_what_the_picture_takes() -> None:
    assert watched(2.0, 24.0, 26.0, seconds=2.6).level is MEDIUM
    models = watched(40.0, 3.0, 43.0)
    assert models.level is HIGH and models.in_vain and models.ms == pytest.approx(43.0)
    waiting = watched(2.0, 3.0, 1000.0 / 60.0)  # for the screen
    assert waiting.level is HIGH and waiting.ms == pytest.approx(5.0)
    late = watched(2.0, 3.0, 60.0)  # nobody knows why
    assert late.level is HIGH and late.ms == pytest.approx(60.0)
