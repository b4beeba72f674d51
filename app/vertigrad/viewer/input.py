"""Keys and mouse: first to the GUI, then, if it does not want them, to camera and session."""

from __future__ import annotations

import math
import time
from typing import Any

import glfw

from ..panels import Gui
from ..session import Session
from ..session.commands import Command, Home, Orbit, Pan, Play, Reload, Reset, Step, Zoom
from .keys import KEYS, LETTERS, MODIFIERS, letter
from .window import Window

ORBIT = math.pi  # radians for a drag over the height of the window
ZOOM = 1.15  # factor for each notch of the wheel
NOWHERE = -3.4e38  # where ImGui has a mouse that is outside of the window


class Input:
    """Left drag orbits, right or middle drag (or shift and left) pans, the wheel zooms towards the cursor.

    Space plays and pauses, N steps, R resets, F5 reloads, H brings the camera home, G hides the panels. A drag that
    begins on the picture stays the camera's wherever it goes, one that begins on a panel stays the panel's.
    """

    def __init__(self, window: Window, session: Session, gui: Gui):
        self._window, self._session, self._gui = window, session, gui
        self._cursor = self._dragged = (0.0, 0.0)  # where the mouse is; where the drag was last followed to
        self._held: int | None = None  # the button that drags the camera
        self._panning = False
        self.last_event = time.perf_counter()
        handle = window.handle
        glfw.set_cursor_pos_callback(handle, self._moved)
        glfw.set_mouse_button_callback(handle, self._button)
        glfw.set_scroll_callback(handle, self._scrolled)
        glfw.set_key_callback(handle, self._key)
        glfw.set_char_callback(handle, self._char)
        glfw.set_cursor_enter_callback(handle, self._entered)
        glfw.set_window_focus_callback(handle, self._focused)

    def _moved(self, _: Any, x: float, y: float) -> None:
        self._place(x, y)
        height = self._window.size[1]
        if self._held is None or not height:
            return
        before, self._dragged = self._dragged, self._cursor
        dx, dy = self._cursor[0] - before[0], self._cursor[1] - before[1]
        if self._panning:
            self._session.post(Pan(-dx / height, dy / height))
        else:
            self._session.post(Orbit(-dx / height * ORBIT, dy / height * ORBIT))

    def _button(self, _: Any, button: int, action: int, modifiers: int) -> None:
        self._touch()
        self._tell_modifiers()
        if action == glfw.RELEASE and button == self._held:
            self._held = None
        elif action == glfw.PRESS and self._held is None and not self._gui.covers(*self._cursor):
            self._held, self._dragged = button, self._cursor
            self._panning = button != glfw.MOUSE_BUTTON_LEFT or bool(modifiers & glfw.MOD_SHIFT)
        if button <= glfw.MOUSE_BUTTON_MIDDLE:
            self._gui.io.add_mouse_button_event(button, action == glfw.PRESS)

    def _scrolled(self, _: Any, dx: float, dy: float) -> None:
        self._touch()
        width, height = self._window.size
        if self._gui.covers(*self._cursor):
            self._gui.io.add_mouse_wheel_event(dx, dy)
        elif width and height:
            cursor = (2.0 * self._cursor[0] / width - 1.0, 1.0 - 2.0 * self._cursor[1] / height)
            self._session.post(Zoom(ZOOM**dy, cursor, width / height))

    def _key(self, _: Any, key: int, code: int, action: int, modifiers: int) -> None:
        self._touch()
        io, name = self._gui.io, letter(key, code)
        self._tell_modifiers()
        place = KEYS.get(key) or LETTERS.get(name)
        if place is not None and action != glfw.REPEAT:  # ImGui repeats by itself
            io.add_key_event(place, action == glfw.PRESS)
        if action == glfw.RELEASE or io.want_capture_keyboard or modifiers & ~_LOCKS:
            return
        if action == glfw.REPEAT and name != "n":
            return
        if name == "g":
            self._gui.visible = not self._gui.visible
        command = self._command(key, name)
        if command is not None:
            self._session.post(command)

    def _command(self, key: int, name: str) -> Command | None:
        match key, name:
            case glfw.KEY_SPACE, _:
                return Play(not self._session.playing)
            case glfw.KEY_F5, _:
                return Reload()
            case _, "n":
                return Step()
            case _, "r":
                return Reset()
            case _, "h":
                return Home()
        return None

    def _char(self, _: Any, code: int) -> None:
        self._touch()
        self._gui.io.add_input_character(code)

    def _entered(self, handle: Any, inside: int) -> None:
        if inside:
            self._place(*glfw.get_cursor_pos(handle))
        else:
            self._touch()
            self._gui.io.add_mouse_pos_event(NOWHERE, NOWHERE)

    def _focused(self, _: Any, focused: int) -> None:
        self._touch()
        self._gui.io.add_focus_event(bool(focused))

    def _touch(self) -> None:
        self.last_event = time.perf_counter()

    def _place(self, x: float, y: float) -> None:
        """Note where the mouse is; given in window coordinates, kept in pixels."""
        self._touch()
        pixels, extent = self._window.size, self._window.extent
        self._cursor = (x * pixels[0] / max(extent[0], 1), y * pixels[1] / max(extent[1], 1))
        self._gui.io.add_mouse_pos_event(*self._cursor)

    def _tell_modifiers(self) -> None:
        """As the keyboard has them: the event's own are, on X11, those before it."""
        for place, keys in MODIFIERS.items():
            pressed = any(glfw.get_key(self._window.handle, key) == glfw.PRESS for key in keys)
            self._gui.io.add_key_event(place, pressed)


_LOCKS = glfw.MOD_CAPS_LOCK | glfw.MOD_NUM_LOCK | glfw.MOD_SHIFT
