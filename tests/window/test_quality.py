"""The quality level is lowered while frames take too long, and the panels report it."""

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
from vertigrad.session.autosave import Autosave
from vertigrad.session.capture import RecordingStatus
from vertigrad.session.commands import SetParameter
from vertigrad.session.quality import Quality
from vertigrad.session.statistics import Series
from vertigrad.viewer import loop
from vertigrad.viewer import show as show_module
from vertigrad.viewer.capture import WindowCapture
from vertigrad.viewer.frame_limiter import FrameLimiter
from vertigrad.viewer.quality import QualityWatch

from .driver import Driver


class Drawn:
    """The levels of the frames so far; those at the finest level take `seconds` longer."""

    def __init__(self) -> None:
        self.levels: list[Level] = []
        self.seconds = 0.0


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Drawn:
    """Slow frames, with a shorter evaluation period than usual."""
    drawn, draw = Drawn(), Renderer.draw

    def slowly(self: Renderer, *arguments: object, **others: object) -> None:
        level = next(argument for argument in arguments if isinstance(argument, Level))
        drawn.levels.append(level)
        time.sleep(drawn.seconds if level is HIGH else 0.0)
        draw(self, *arguments, **others)  # type: ignore[arg-type]

    monkeypatch.setattr(Renderer, "draw", slowly)
    monkeypatch.setattr("vertigrad.viewer.quality.first_level", lambda kind: HIGH)
    monkeypatch.setattr(quality, "SETTLING", 0.05)
    monkeypatch.setattr(quality, "WINDOW", 0.5)
    monkeypatch.setattr(quality, "FEWEST", 2)
    return drawn


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """The texts of two panels about the quality."""
    texts: dict[str, list[str]] = {"run": [], "performance": []}

    def note(panel: Any, lines: list[str]) -> None:
        fact = panel.fact

        def noted(label: str, value: str, *more: Any, **other: Any) -> None:
            lines.extend([value] if label == "quality" else [])
            fact(label, value, *more, **other)

        monkeypatch.setattr(panel, "fact", noted)

    note(run, texts["run"])
    note(performance, texts["performance"])
    return texts


def show(opened: Callable[..., Driver], sets: str, slow: Drawn, seconds: float) -> Driver:
    """A viewer whose images take `seconds` at the finest level, with a target of four fifths of that."""
    driver = opened("neural_field", sets, playing=True)
    driver.viewer._quality = QualityWatch(driver.session)
    driver.session.set_pacing({"fps_limit": 1.25 / seconds, "unfocused_fps_limit": 0.0})
    slow.levels.clear()
    slow.seconds = seconds
    return driver


@pytest.mark.turns(2)
def test_slow_images_are_drawn_more_cheaply_and_the_panels_give_the_reason(
    opened: Callable[..., Driver], slow: Drawn, texts: dict[str, list[str]]
) -> None:
    driver = show(opened, "view.quality=auto", slow, 0.5)
    driver.viewer.gui.workspace.opened["Performance"] = True
    session = driver.session
    driver.frames_until(lambda: session.quality.level is MEDIUM)
    driver.frames(3)
    assert slow.levels[0] is HIGH and slow.levels[-1] is MEDIUM
    for panel, lines in texts.items():
        assert lines[-1].startswith("auto: medium, ") and lines[-1].endswith(" ms of 400.0 ms"), panel
    assert not session.unsaved and not session.scene_edits.history.done

    session.post(SetParameter("view", "quality", "low"))
    driver.frames(2)
    assert slow.levels[-1] is LOW and session.unsaved


def test_the_first_image_on_a_software_adapter_is_a_cheap_one(opened: Callable[..., Driver]) -> None:
    driver = opened("neural_field", "view.quality=auto", playing=True)
    driver.session.quality, driver.viewer._quality = Quality(), QualityWatch(driver.session)
    driver.frames(1)
    assert driver.session.quality.level is (LOW if driver.session.gpu.adapter.kind == "software" else HIGH)


@pytest.mark.turns(2)
def test_an_explicit_level_is_constant_even_if_slow(opened: Callable[..., Driver], slow: Drawn) -> None:
    driver = show(opened, "view.quality=high", slow, 0.2)
    driver.frames(7)
    assert set(slow.levels) == {HIGH} and driver.session.quality.level is HIGH and driver.session.quality.ms == 0.0


@pytest.mark.turns(2)
def test_nothing_changes_while_a_video_is_recorded(
    opened: Callable[..., Driver], slow: Drawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = RecordingStatus(Path("rolling.mp4"), (64, 64), 1.0, 10)
    monkeypatch.setattr(WindowCapture, "recording", property(lambda capture: recording))
    driver = show(opened, "view.quality=auto", slow, 0.2)
    driver.frames(7)
    assert set(slow.levels) == {HIGH} and driver.session.quality.ms == 0.0


# with GPU timestamps ------------------------------------------------------------------------------------------------


def watched(model_ms: float, draw_ms: float, period: float, seconds: float = 10.0) -> Quality:
    """Frames whose passes are timed, one each `period` ms on a screen with 60 frames a second."""
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


def test_gpu_times_give_the_cost_of_a_frame() -> None:
    assert watched(2.0, 24.0, 26.0, seconds=2.6).level is MEDIUM
    models = watched(40.0, 3.0, 43.0)
    assert models.level is HIGH and models.in_vain and models.ms == pytest.approx(43.0)
    waiting = watched(2.0, 3.0, 1000.0 / 60.0)  # for vsync
    assert waiting.level is HIGH and waiting.ms == pytest.approx(5.0)
    late = watched(2.0, 3.0, 60.0)  # for an unknown reason
    assert late.level is HIGH and late.ms == pytest.approx(60.0)


class Noted:
    """A replacement for `AutoQuality` that records the calls, without their times."""

    quality = Quality()

    def __init__(self, first: Level) -> None:
        self.first, self.calls = first, list[tuple[Any, ...]]()

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *arguments: self.calls.append((name, *arguments[1:]))


def test_the_time_that_is_evaluated_of_each_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole time of a late frame, the work of others; nothing after a change, and for an idle frame."""
    monkeypatch.setattr("vertigrad.viewer.quality.AutoQuality", Noted)
    timer = SimpleNamespace(available=True, latest={})
    timeline = SimpleNamespace(frame_ms=Series(8), cpu_ms=Series(8), target_ms=0.6)
    session: Any = SimpleNamespace(
        gpu=SimpleNamespace(timer=timer, adapter=SimpleNamespace(kind="integrated")),
        timeline=timeline,
        quality=Noted.quality,
        view=View(),
        capture=None,
        scene=SimpleNamespace(path="scene.toml"),
        viewport_size=(64, 64),
        scene_edits=SimpleNamespace(revision=0),
        clock=SimpleNamespace(pacer=SimpleNamespace(drawing_ms=0.4)),
    )
    watch: Any = QualityWatch(session)

    def judged(period: float, steady: bool = True, held_back: bool = False) -> list[tuple[Any, ...]]:
        timeline.frame_ms.append(period)
        timeline.cpu_ms.append(0.25)
        timer.latest = {"layers": 0.5}
        watch._auto.calls.clear()
        watch.frame(steady, held_back)
        return watch._auto.calls

    assert judged(0.85) == [("forget",), ("take", 0.5, 0.6, 0.5)]
    assert judged(0.85) == [("take", 0.5, 0.6, 0.5)], "in time"
    assert judged(1.4) == [("take", 1.4, 0.6, 0.5)], "late"
    assert judged(1.4, held_back=True) == [("take", 0.5, 0.6, 0.5)]
    assert judged(1.4, steady=False) == [("rest",)]
    for change in ({"viewport_size": (32, 64)}, {"scene_edits": SimpleNamespace(revision=1)}):
        vars(session).update(change)
        assert judged(0.85)[0] == ("forget",)
        assert judged(0.85)[0][0] == "take"
    session.scene = SimpleNamespace(path="other.toml")
    assert judged(0.85)[0] == ("restart",)
    timeline.target_ms = 0.0
    assert judged(100.0) == [("take", 0.5, 0.0, 0.5)], "there is no limit of the frame time"
    session.capture = SimpleNamespace(recording=object())
    assert judged(0.85) == [("rest",)]
    session.capture = None
    session.gpu.adapter.kind, before = "software", watch
    watch = QualityWatch(session)
    assert watch is not before and judged(0.85)[1:] == [("take", 0.85, 0.0, 0.4)]
    assert before._auto.first is HIGH and watch._auto.first is LOW, "an image may take seconds there"


def test_autosaved_edits_are_removed_when_the_window_closes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are next to the settings file; after the question is answered they are removed, also after an error."""
    finished: list[object] = []
    monkeypatch.setattr(Autosave, "finish", lambda _, session: finished.append(session))
    session: Any = SimpleNamespace(autosave=None)
    with show_module._keeping_edits(session, None):
        assert session.autosave is None
    assert not finished
    with pytest.raises(ZeroDivisionError), show_module._keeping_edits(session, tmp_path / "window.json"):
        assert isinstance(session.autosave, Autosave) and not finished
        raise ZeroDivisionError
    assert finished == [session] and session.autosave is None


@pytest.mark.parametrize(("unsaved", "mark"), [(False, ""), (True, "● ")])
def test_the_title_shows_unsaved_changes(unsaved: bool, mark: str) -> None:
    session: Any = SimpleNamespace(unsaved=unsaved, scene=SimpleNamespace(title="A scene"))
    assert loop._title(session) == f"{mark}A scene – Vertigrad"


@pytest.mark.parametrize("fps", [0.0, 0.5, 1.0, 200.0])
def test_frames_wait_for_their_limit_also_below_one_in_a_second(fps: float) -> None:
    now, slept = 0.0, list[float]()

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds
        slept.append(seconds)

    limiter = FrameLimiter(lambda: now)
    for _ in range(4):
        limiter.wait(fps, sleep)
    assert limiter.held_back == (fps > 0.0)
    assert sum(slept) == pytest.approx(3.0 / fps if fps else 0.0)
