"""Events of the window system sent to `Input` without a window: what the GUI and the session receive."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import glfw
import pytest
from imgui_bundle import imgui

from vertigrad.panels import DrawnRegion, Gui
from vertigrad.session import commands
from vertigrad.viewer import events as events_module
from vertigrad.viewer.input import Input
from vertigrad.viewer.keys import KEYS, LETTERS
from vertigrad.viewer.mouse import FLIGHT

from .shell import Shell

EVENTS = ("cursor_pos", "mouse_button", "scroll", "key", "char", "cursor_enter", "window_focus", "drop")
PIXELS = 2.0  # of the window per unit of mouse coordinates


class Reports:
    """A fake window system: `send` reports an event, `held` are the pressed keys."""

    def __init__(self, one: Shell, monkeypatch: pytest.MonkeyPatch):
        self.held, self.cursor, self.time = set[int](), (0.0, 0.0), 100.0
        self._callbacks: dict[str, Callable[..., None]] = {}
        for event in EVENTS:
            keep = lambda _, callback, event=event: self._callbacks.__setitem__(event, callback)  # noqa: E731
            monkeypatch.setattr(glfw, f"set_{event}_callback", keep)
        monkeypatch.setattr(glfw, "get_key", lambda _, key: glfw.PRESS if key in self.held else glfw.RELEASE)
        monkeypatch.setattr(glfw, "get_key_name", lambda key, _: chr(key).lower() if 65 <= key <= 90 else None)
        monkeypatch.setattr(glfw, "get_cursor_pos", lambda _: self.cursor)
        monkeypatch.setattr(events_module.time, "perf_counter", lambda: self.time)
        extent = one.size[0] / PIXELS, one.size[1] / PIXELS
        window: Any = SimpleNamespace(handle=None, size=one.size, extent=extent)
        self.posted: list[Any] = []
        monkeypatch.setattr(one.session, "post", self.posted.append)
        self.shell = one
        self.input = Input(window, one.session, one.gui)

    def send(self, event: str, *values: Any) -> list[Any]:
        """Report an event; return the posted commands, after the GUI has built a frame."""
        self.posted.clear()
        self.time += 1.0
        self._callbacks[event](None, *values)
        self.frame()
        return list(self.posted)

    def frame(self) -> None:
        self.input.events.frame()
        with self.shell.gpu.frames.frame():
            self.shell.gui.build(self.shell.session, self.shell.size, 1 / 60)

    def move(self, x: float, y: float) -> list[Any]:
        """Move the mouse to a pixel of the window."""
        return self.send("cursor_pos", x / PIXELS, y / PIXELS)

    def button(self, down: bool, button: int = glfw.MOUSE_BUTTON_LEFT, modifiers: int = 0) -> list[Any]:
        return self.send("mouse_button", button, glfw.PRESS if down else glfw.RELEASE, modifiers)

    def key(self, key: int, action: int = glfw.PRESS, modifiers: int = 0) -> list[Any]:
        return self.send("key", key, 0, action, modifiers)

    @property
    def middle(self) -> tuple[float, float]:
        left, top, width, height = self.shell.gui.viewport
        return left + width // 2, top + height // 2


@pytest.fixture
def reports(shell, monkeypatch: pytest.MonkeyPatch) -> Reports:
    return Reports(shell("nbody", size=(1000, 700)), monkeypatch)


def kinds(posted: list[Any]) -> list[str]:
    """Commands by their imported names."""
    names = {kind: name for name, kind in vars(commands).items() if isinstance(kind, type)}
    return [names[type(command)] for command in posted]


def test_every_event_wakes_the_window(reports: Reports):
    values = {
        "cursor_pos": (5.0, 6.0),
        "mouse_button": (glfw.MOUSE_BUTTON_LEFT, glfw.PRESS, 0),
        "scroll": (0.0, 1.0),
        "key": (glfw.KEY_F24, 0, glfw.PRESS, 0),
        "char": (97,),
        "cursor_enter": (0,),
        "window_focus": (1,),
        "drop": (["a.toml"],),
    }
    assert set(values) == set(EVENTS)
    for event in EVENTS:
        reports.send(event, *values[event])
        assert reports.input.events.last_event == reports.time, event
    reports.send("cursor_enter", 1)
    assert reports.input.events.last_event == reports.time


def test_mouse_positions_are_converted_to_pixels(reports: Reports):
    io = reports.shell.gui.io
    reports.move(300.0, 200.0)
    assert tuple(io.mouse_pos) == (300.0, 200.0)
    reports.send("cursor_enter", 0)
    assert not imgui.is_mouse_pos_valid()
    reports.cursor = (111.0, 77.0)
    reports.send("cursor_enter", 1)
    assert tuple(io.mouse_pos) == (222.0, 154.0)


@pytest.mark.parametrize("button", [glfw.MOUSE_BUTTON_LEFT, glfw.MOUSE_BUTTON_RIGHT, glfw.MOUSE_BUTTON_MIDDLE])
def test_buttons_are_reported_to_the_gui(reports: Reports, button: int):
    io = reports.shell.gui.io
    reports.move(*reports.middle)
    reports.button(True, button)
    assert [io.mouse_down[number] for number in range(3)] == [number == button for number in range(3)]
    reports.button(False, button)
    assert not any(io.mouse_down[number] for number in range(5))
    reports.button(True, glfw.MOUSE_BUTTON_4)
    assert not any(io.mouse_down[number] for number in range(5))


def test_the_wheel_goes_to_the_item_under_the_mouse(reports: Reports, monkeypatch: pytest.MonkeyPatch):
    turned: list[tuple[float, float]] = []
    reports.move(*reports.middle)
    assert kinds(reports.send("scroll", 0.0, 1.0)) == ["RememberView", "Zoom"]
    reports.move(990.0, 300.0)
    monkeypatch.setattr(Gui, "io", SimpleNamespace(add_mouse_wheel_event=lambda *by: turned.append(by)))
    monkeypatch.setattr(Gui, "covers", lambda *_: True)
    reports.posted.clear()
    reports._callbacks["scroll"](None, 2.0, 3.0)
    assert turned == [(2.0, 3.0)] and not reports.posted


@pytest.mark.parametrize(
    ("held", "kind"),
    [
        ((), "Zoom"),
        ((glfw.KEY_LEFT_SHIFT,), "Pan"),
        ((glfw.KEY_RIGHT_ALT,), "Orbit"),
        ((glfw.KEY_LEFT_CONTROL,), "Zoom"),
    ],
)
def test_modifier_keys_change_the_wheel(reports: Reports, held: tuple[int, ...], kind: str):
    reports.move(*reports.middle)
    reports.held.update(held)
    (*_, command) = reports.send("scroll", 0.0, 1.0)
    assert kinds([command]) == [kind]
    if kind == "Zoom":
        assert command.factor == pytest.approx(1.15**0.25 if held else 1.15)


@pytest.mark.parametrize("key", [*KEYS, *(ord(name.upper()) for name in LETTERS)])
def test_keys_are_reported_to_the_gui_until_released(reports: Reports, key: int):
    key_name = KEYS.get(key) or LETTERS[chr(key).lower()]
    reports.key(key)
    assert imgui.is_key_down(key_name)
    reports.key(key, glfw.REPEAT)
    assert imgui.is_key_down(key_name)
    reports.key(key, glfw.RELEASE)
    assert not imgui.is_key_down(key_name)


def test_modifiers_are_those_of_the_keyboard(reports: Reports):
    io = reports.shell.gui.io
    events = {
        "key_ctrl": (glfw.KEY_LEFT_CONTROL, glfw.KEY_RIGHT_CONTROL),
        "key_shift": (glfw.KEY_LEFT_SHIFT, glfw.KEY_RIGHT_SHIFT),
        "key_alt": (glfw.KEY_LEFT_ALT, glfw.KEY_RIGHT_ALT),
        "key_super": (glfw.KEY_LEFT_SUPER, glfw.KEY_RIGHT_SUPER),
    }
    for name, keys in events.items():
        for key in keys:
            reports.held = {key}
            reports.key(key)
            assert {each for each in events if getattr(io, each)} == {name}
            reports.held = set()
            reports.button(False)
            assert not any(getattr(io, each) for each in events)


def test_shortcuts_execute_when_pressed_and_repeat_where_enabled(reports: Reports):
    assert kinds(reports.key(glfw.KEY_SPACE)) == kinds([commands.Play(True)])
    assert reports.key(glfw.KEY_SPACE, glfw.REPEAT) == [] == reports.key(glfw.KEY_SPACE, glfw.RELEASE)
    assert len(reports.key(glfw.KEY_N)) == 1 == len(reports.key(glfw.KEY_N, glfw.REPEAT))


def test_keys_after_a_click_on_the_gui_are_deferred(reports: Reports):
    reports.move(990.0, 690.0)
    assert reports.shell.gui.covers(990.0, 690.0)
    reports.button(True)
    reports.button(False)
    waited = 0
    reports._callbacks["key"](None, glfw.KEY_N, 0, glfw.PRESS, 0)
    reports.posted.clear()
    while not reports.posted and waited < 10:
        waited += 1
        reports.input.events.frame()
    assert waited == 2, "two of four frames were those of the button"
    reports.frame()
    assert len(reports.key(glfw.KEY_N)) == 1


def test_typed_text_reaches_the_gui(reports: Reports, monkeypatch: pytest.MonkeyPatch):
    typed: list[int] = []
    monkeypatch.setattr(Gui, "io", SimpleNamespace(add_input_character=typed.append))
    reports._callbacks["char"](None, 0x3B1)
    assert typed == [0x3B1]


def test_a_drag_moves_the_camera_only_after_some_pixels(reports: Reports):
    x, y = reports.middle
    reports.move(x, y)
    assert reports.button(True) == []
    assert reports.move(x + 4.0, y) == []
    assert kinds(reports.move(x + 5.0, y)) == ["RememberView", "Orbit"]
    height = reports.shell.gui.viewport.height
    (orbit,) = reports.move(x + 15.0, y - 20.0)
    assert orbit == commands.Orbit(-10.0 / height * math.pi, -20.0 / height * math.pi)
    assert reports.button(False) == [] == reports.move(x, y)


def test_a_click_selects_and_other_buttons_do_not(reports: Reports):
    x, y = reports.middle
    left, top, width, height = reports.shell.gui.viewport
    reports.move(x, y)
    reports.button(True)
    assert reports.button(False) == [commands.Pick((x - left, y - top), (width, height))]
    for button in (glfw.MOUSE_BUTTON_RIGHT, glfw.MOUSE_BUTTON_MIDDLE):
        reports.button(True, button)
        assert reports.button(False, button) == []


@pytest.mark.parametrize(
    ("button", "modifiers"),
    [(glfw.MOUSE_BUTTON_RIGHT, 0), (glfw.MOUSE_BUTTON_MIDDLE, 0), (glfw.MOUSE_BUTTON_LEFT, glfw.MOD_SHIFT)],
)
def test_other_buttons_and_shift_pan(reports: Reports, button: int, modifiers: int):
    x, y = reports.middle
    height = reports.shell.gui.viewport.height
    reports.move(x, y)
    reports.button(True, button, modifiers)
    assert reports.move(x + 14.0, y + 7.0)[1:] == [commands.Pan(-14.0 / height, 7.0 / height)]
    reports.button(False, button)


@pytest.mark.parametrize(
    ("button", "more", "mode"),
    [
        (glfw.MOUSE_BUTTON_LEFT, 0, "replace"),
        (glfw.MOUSE_BUTTON_LEFT, glfw.MOD_ALT, "add"),
        (glfw.MOUSE_BUTTON_RIGHT, 0, "remove"),
    ],
)
def test_a_drag_with_ctrl_and_shift_selects_by_a_box(reports: Reports, button: int, more: int, mode: str):
    x, y = reports.middle
    view = reports.shell.gui.viewport
    reports.move(x, y)
    assert reports.button(True, button, glfw.MOD_CONTROL | glfw.MOD_SHIFT | more) == []
    assert reports.move(x + 40.0, y - 30.0) == []
    assert reports.shell.gui.region == DrawnRegion("box", ((x, y), (x + 40.0, y - 30.0)))
    first = x - view.left, y - view.top
    points = first, (first[0] + 40.0, first[1] - 30.0)
    selected = commands.SelectRegion("box", points, (view.width, view.height), 0.0, mode, False)
    assert reports.button(False, button) == [selected]
    assert reports.shell.gui.region is None
    reports.button(True, button, glfw.MOD_CONTROL | glfw.MOD_SHIFT | more)
    reports.send("window_focus", 0)
    assert reports.shell.gui.region is None


@pytest.mark.parametrize(
    ("held", "mode"), [(0, "replace"), (glfw.MOD_SHIFT, "add"), (glfw.MOD_CONTROL, "remove"), (glfw.MOD_ALT, "")]
)
def test_a_drag_with_a_selection_tool(reports: Reports, held: int, mode: str):
    """Shift adds, Ctrl removes, Alt moves the camera; a click selects one row, but for the brush."""
    x, y = reports.middle
    view, session = reports.shell.gui.viewport, reports.shell.session
    session.carry_out(commands.SetSelecting("visible_only", True))
    for shape in ("lasso", "brush"):
        session.carry_out(commands.SetSelectTool(shape))
        reports.move(x, y)
        reports.button(True, modifiers=held)
        moved = [*reports.move(x + 20.0, y), *reports.move(x + 20.5, y), *reports.move(x + 20.0, y + 9.0)]
        let_go = reports.button(False)
        if not mode:
            assert kinds(moved)[:2] == ["RememberView", "Orbit"] and let_go == []
            continue
        points = tuple((x + dx - view.left, y + dy - view.top) for dx, dy in ((0, 0), (20, 0), (20, 9)))
        radius = session.rows.settings.radius * view.height if shape == "brush" else 0.0
        assert moved == []
        assert let_go == [commands.SelectRegion(shape, points, (view.width, view.height), radius, mode, True)]
        reports.button(True, modifiers=held)
        clicked = {"lasso": "Pick", "brush": "SelectRegion"}[shape]
        assert kinds(reports.button(False)) == [clicked]
    session.carry_out(commands.SetSelectTool(None))


def test_a_drag_with_ctrl_acts_on_the_models(reports: Reports):
    x, y = reports.middle
    reports.move(x, y)
    assert kinds(reports.button(True, modifiers=glfw.MOD_CONTROL)) == ["BeginInteraction"]
    assert kinds(reports.move(x + 1.0, y)) == ["MoveInteraction"]
    assert kinds(reports.button(False)) == ["EndInteraction"]
    assert reports.button(True, modifiers=glfw.MOD_CONTROL | glfw.MOD_ALT) == []
    reports.button(False)
    reports.button(True, modifiers=glfw.MOD_CONTROL)
    assert kinds(reports.send("window_focus", 0)) == ["EndInteraction"]
    assert not reports.input.events.focused
    reports.send("window_focus", 1)
    assert reports.input.events.focused


@pytest.mark.parametrize("key", FLIGHT)
def test_flight_keys_fly_while_the_right_button_is_held(reports: Reports, key: int):
    reports.move(*reports.middle)
    assert "Fly" not in kinds(reports.key(key))
    reports.key(key, glfw.RELEASE)
    reports.button(True, glfw.MOUSE_BUTTON_RIGHT)
    assert reports.key(key) == [commands.RememberView(), commands.Fly(FLIGHT[key])]
    reports.held.add(glfw.KEY_LEFT_SHIFT)
    x, y, z = FLIGHT[key]
    assert reports.key(glfw.KEY_LEFT_SHIFT) == [commands.Fly((4.0 * x, 4.0 * y, 4.0 * z))]
    reports.held.clear()
    assert reports.key(glfw.KEY_LEFT_SHIFT, glfw.RELEASE) == [commands.Fly(FLIGHT[key])]
    assert reports.send("scroll", 0.0, 2.0) == [commands.FlyFaster(1.2**2.0)]
    assert reports.key(key, glfw.RELEASE) == [commands.Fly((0.0, 0.0, 0.0))]
    reports.button(False, glfw.MOUSE_BUTTON_RIGHT)


def test_a_click_in_flight_mode_does_not_change_the_speed(reports: Reports):
    reports.shell.session.cameras.flight_mode = True
    reports.move(*reports.middle)
    key = next(iter(FLIGHT))
    assert commands.Fly(FLIGHT[key]) in reports.key(key)
    assert "Fly" not in kinds([*reports.button(True), *reports.button(False)])


def test_dropped_files_are_opened_one_by_one(reports: Reports, caplog: pytest.LogCaptureFixture):
    assert reports.send("drop", ["/a/b.toml"]) == [commands.Open(Path("/a/b.toml"))]
    assert "at once" not in caplog.text
    with caplog.at_level("INFO", "vertigrad"):
        assert reports.send("drop", ["/a/b.toml", "/c.toml"]) == [commands.Open(Path("/a/b.toml"))]
    assert "2 files were dropped at once" in caplog.text


@pytest.mark.parametrize("dialog", ["palette", "gallery", "browser"])
def test_keys_after_one_that_opens_a_text_field_are_deferred(
    reports: Reports, monkeypatch: pytest.MonkeyPatch, dialog: str
):
    pressed: list[str] = []

    def press(gui: Gui, _: Any, keys: str, repeated: bool) -> bool:
        setattr(gui.workspace, dialog, True)
        pressed.append(keys)
        return True

    monkeypatch.setattr(Gui, "press", press)
    for key in (glfw.KEY_P, glfw.KEY_N):
        reports._callbacks["key"](None, key, 0, glfw.PRESS, 0)
    assert pressed == ["P"]
    for frame in range(1, 5):
        assert pressed == ["P"], f"frame {frame}"
        reports.input.events.frame()
    assert pressed == ["P", "N"]
    setattr(reports.shell.workspace, dialog, False)
