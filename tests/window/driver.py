"""`Driver`: a viewer in a window on the test's screen, run frame by frame."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import glfw
import numpy as np
import pytest
from imgui_bundle import imgui

from vertigrad.panels import controls, parameter_menu, parameters, widgets
from vertigrad.session import Session
from vertigrad.session.failures import Failure
from vertigrad.viewer import Viewer

from .desktop import LEFT, Desktop

GUI_FRAMES = 4  # frames in which the GUI processes a move, a press and a release, one per frame

Rect = tuple[float, float, float, float]  # left, top, right, bottom


class Driver:
    """Input goes through the X server; frames run when the test says so, so nothing depends on how fast they are."""

    def __init__(self, viewer: Viewer, session: Session, desktop: Desktop):
        self.viewer, self.session, self.desktop = viewer, session, desktop
        self.asked, self._failures = False, list[Failure]()
        self._add = session.failures.add
        session.failures.add = self._note
        self.draws_viewport = True
        self._between = False  # in a frame whose image is not inspected
        self._draw, viewer._renderer.draw = viewer._renderer.draw, self._draw_if_inspected

    def expected_failures(self) -> list[Failure]:
        """The errors that the window has caught so far; a test that does not call this fails if there are any."""
        self.asked = True
        return list(self._failures)

    def require_no_failures(self) -> None:
        """Called at the end of a test."""
        assert self.asked or not self._failures, "\n".join(failure.text for failure in self._failures)

    def _note(self, stage: str, error: BaseException, frame: int) -> bool:
        new = self._add(stage, error, frame)
        if new:
            self._failures.append(self.session.failures.shown[-1])
        return new

    @property
    def window(self) -> int:
        return glfw.get_x11_window(self.viewer.window.handle)

    def frames(self, count: int = GUI_FRAMES) -> None:
        """Run some frames, with everything but the viewport's image: only the last one draws that, unless captured."""
        for left in reversed(range(count)):
            self._between = left > 0
            self.viewer.frame()

    def _draw_if_inspected(self, *arguments: Any, **options: Any) -> None:
        if self.draws_viewport and (not self._between or self.viewer._capture.busy):
            self._draw(*arguments, **options)

    def frames_until(self, condition: Callable[[], bool], most: int = 60) -> None:
        for _ in range(most):
            if condition():
                return
            self.viewer.frame()
        assert condition(), f"not within {most} frames"

    def frames_for(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.viewer.frame()

    def image(self) -> np.ndarray:
        """The contents of the window once they are constant: float32 of 0 to 255, shape (height, width, 3)."""
        before = self.grab()
        for _ in range(40):
            self.viewer.frame()
            time.sleep(0.02)
            now = self.grab()
            if np.array_equal(before, now):
                return now.astype(np.float32)
            before = now
        raise AssertionError("the window keeps changing")

    def drag(self, start: tuple[float, float], end: tuple[float, float], button: int = LEFT) -> None:
        """Press at `start`, move to `end` in a few steps, and release there."""
        self.hold(start, button)
        self.carry(start, end)
        self.desktop.release(button)
        self.frames()

    def hold(self, position: tuple[float, float], button: int = LEFT) -> None:
        self.desktop.move(*position)
        self.frames(2)
        self.desktop.press(button)
        self.frames(2)

    def carry(self, start: tuple[float, float], end: tuple[float, float], steps: int = 3) -> None:
        for step in range(1, steps + 1):
            share = step / steps
            self.desktop.move(*(a + (b - a) * share for a, b in zip(start, end, strict=True)))
            self.frames(1)
        self.frames(2)

    def click(self, position: tuple[float, float]) -> None:
        self.desktop.move(*position)
        self.frames(2)
        self.desktop.click()
        self.frames()

    def key(self, *names: str) -> None:
        self.desktop.key(*names)
        self.frames()

    def type_into(self, position: tuple[float, float], text: str) -> None:
        """Ctrl-click on a slider and type a value; without Enter."""
        self.desktop.move(*position)
        self.frames(2)
        self.desktop.xdotool("keydown", "ctrl")
        self.frames(1)
        self.desktop.click()
        self.frames()
        self.desktop.xdotool("keyup", "ctrl")
        self.frames(2)
        self.desktop.key("ctrl+a")
        self.frames()
        self.desktop.type(text)
        self.frames(len(text) + GUI_FRAMES)

    def grab(self) -> np.ndarray:
        """The contents of the window as they are: u8 (height, width, 3)."""
        self.session.gpu.sync()
        width, height = self.viewer.window.size
        return self.desktop.screenshot()[:height, :width]


class Items:
    """The rectangles of buttons, menu and list entries, headings, fields and boxes that were drawn last, by label."""

    KINDS = (
        *("button", "menu_item_simple", "menu_item", "selectable", "collapsing_header", "input_text_with_hint"),
        *("combo", "checkbox", "invisible_button", "small_button", "input_int", "begin_combo"),
    )

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.rects: dict[str, Rect] = {}
        self._last_frame: dict[str, int] = {}  # the frame in which each was drawn
        for kind in self.KINDS:
            monkeypatch.setattr(imgui, kind, self._noted(getattr(imgui, kind)))

    def _noted(self, draw: Callable[..., Any]) -> Callable[..., Any]:
        def noted(label: str, *arguments: Any, **options: Any) -> Any:
            result = draw(label, *arguments, **options)
            low, high = imgui.get_item_rect_min(), imgui.get_item_rect_max()
            self.rects[label] = (low.x, low.y, high.x, high.y)
            self._last_frame[label] = imgui.get_frame_count()
            return result

        return noted

    def find(self, label: str) -> str | None:
        """The full label that contains `label` and was drawn in the last frame."""
        now = imgui.get_frame_count()
        return next((full for full, frame in self._last_frame.items() if label in full and frame >= now - 1), None)

    def at(self, label: str) -> tuple[float, float]:
        full = self.find(label)
        assert full is not None, f"{label} is not visible"
        left, top, right, bottom = self.rects[full]
        return (left + right) / 2, (top + bottom) / 2

    def entry(self, combo: str, index: int) -> tuple[float, float]:
        """Of a combo that was just opened downwards: the position of an entry."""
        left, _, right, bottom = self.rects[self.find(combo) or combo]
        style, line = imgui.get_style(), imgui.get_text_line_height_with_spacing()
        return (left + right) / 2, bottom + style.window_padding.y + (index + 0.4) * line


class Rows:
    """The rectangle and the displayed value of each parameter's widget that the panel drew last, by name."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.rects: dict[str, Rect] = {}
        self.values: dict[str, Any] = {}
        drawn = widgets.edit

        def note(spec: Any, value: Any) -> None:
            low, high = imgui.get_item_rect_min(), imgui.get_item_rect_max()
            self.rects[spec.name] = (low.x, low.y, high.x, high.y)
            self.values[spec.name] = value

        def edit(spec: Any, hint: Any, value: Any, owner: Any = None) -> Any:
            edited = drawn(spec, hint, value, owner)
            note(spec, value)
            return edited

        monkeypatch.setattr(parameters, "edit", edit)
        row = controls.edit_row

        def edit_row(label: str, tooltip: str, spec: Any, *arguments: Any) -> Any:
            edited = row(label, tooltip, spec, *arguments)
            note(spec, arguments[1])
            return edited

        monkeypatch.setattr(parameter_menu, "edit_row", edit_row)

    def at(self, name: str, share: float = 0.5) -> tuple[float, float]:
        """A position on the widget, at `share` of its width from the left."""
        left, top, right, bottom = self.rects[name]
        return left + share * (right - left), (top + bottom) / 2
