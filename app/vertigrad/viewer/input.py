"""Keys and mouse: events go to the GUI first, then, if it does not use them, to camera and session."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import glfw
from imgui_bundle import imgui

from ..panels import Gui
from ..session import Session
from ..session.commands import Open
from .keys import KEYS, LETTERS, MODIFIERS, letter, written
from .mouse import Mouse
from .window import Window

_log = logging.getLogger("vertigrad")
FOCUSED = 4  # frames after a click until ImGui reports that text is typed: press, release, and one each to be known
NOWHERE = -3.4e38  # ImGui's coordinate of a mouse outside of the window


class Input:
    """What the mouse does in the viewport is in `Mouse`, what keys do in the GUI's table of actions.

    A drag that begins in the viewport stays with the camera, one that begins on a panel with the panel.
    Call `frame` before the events of each frame: what a key is for is not known for a few frames after a click on the
    GUI, which may have been one into a text field or out of it; such keys wait.
    """

    def __init__(self, window: Window, session: Session, gui: Gui):
        self._window, self._session, self._gui = window, session, gui
        self._cursor = (0.0, 0.0)  # where the mouse is
        self._mouse = Mouse(session, gui)
        self.last_event = time.perf_counter()
        self.focused = True  # until the window system reports otherwise
        self._frames, self._known_from = 0, 0  # frames so far, and the one from which ImGui knows what keys are for
        self._keys: list[tuple[str, bool]] = []  # that wait for it
        handle = window.handle
        glfw.set_cursor_pos_callback(handle, self._moved)
        glfw.set_mouse_button_callback(handle, self._button)
        glfw.set_scroll_callback(handle, self._scrolled)
        glfw.set_key_callback(handle, self._key)
        glfw.set_char_callback(handle, self._char)
        glfw.set_cursor_enter_callback(handle, self._entered)
        glfw.set_window_focus_callback(handle, self._focused)
        glfw.set_drop_callback(handle, self._dropped)  # pyright: ignore[reportArgumentType]

    def frame(self) -> None:
        """A frame begins: keys that waited are for shortcuts, if not for a text field."""
        self._frames += 1
        if self._frames >= self._known_from:
            keys, self._keys = self._keys, []
            for name, repeated in keys:
                self._press(name, repeated)

    def _moved(self, _: Any, x: float, y: float) -> None:
        self._set_cursor(x, y)
        self._mouse.move(self._cursor)

    def _button(self, _: Any, button: int, action: int, modifiers: int) -> None:
        self._note_event()
        self._pass_modifiers()
        if action == glfw.RELEASE:
            self._mouse.release(button, self._cursor)
            return self._pass_button(button, action)
        if self._gui.io.want_text_input or self._gui.covers(*self._cursor):
            self._known_from = self._frames + FOCUSED
        if not self._gui.covers(*self._cursor):
            shift, ctrl, alt = (bool(modifiers & held) for held in (glfw.MOD_SHIFT, glfw.MOD_CONTROL, glfw.MOD_ALT))
            self._mouse.press(button, self._cursor, shift, ctrl, alt)
        self._pass_button(button, action)

    def _pass_button(self, button: int, action: int) -> None:
        if button <= glfw.MOUSE_BUTTON_MIDDLE:
            self._gui.io.add_mouse_button_event(button, action == glfw.PRESS)

    def _scrolled(self, _: Any, dx: float, dy: float) -> None:
        self._note_event()
        if self._gui.covers(*self._cursor):
            self._gui.io.add_mouse_wheel_event(dx, dy)
        else:
            shift, alt, ctrl = (self._down(MODIFIERS[key]) for key in _WHEEL_MODIFIERS)
            self._mouse.scroll(dx, dy, self._cursor, shift, alt, ctrl)

    def _key(self, _: Any, key: int, code: int, action: int, modifiers: int) -> None:
        self._note_event()
        io, name = self._gui.io, letter(key, code)
        self._pass_modifiers()
        of_imgui = KEYS.get(key) or LETTERS.get(name)
        if of_imgui is not None and action != glfw.REPEAT:  # ImGui repeats by itself
            io.add_key_event(of_imgui, action == glfw.PRESS)
        shift = self._down(MODIFIERS[imgui.Key.mod_shift])
        settled = self._frames >= self._known_from and not self._keys
        free = settled and not io.want_text_input and not modifiers & ~_LOCKS and not self._gui.waits(self._session)
        if action != glfw.REPEAT and self._mouse.key(key, action == glfw.PRESS, shift, free):
            return
        if action == glfw.RELEASE:
            return
        pressed = written(key, code, modifiers), action == glfw.REPEAT
        if settled:
            self._press(*pressed)
        else:
            self._keys.append(pressed)

    def _press(self, name: str, repeated: bool) -> None:
        done, workspace = self._gui.press(self._session, name, repeated), self._gui.workspace
        if done and (workspace.palette or workspace.gallery or workspace.browser):  # which begin with a text field
            self._known_from = self._frames + FOCUSED

    def _char(self, _: Any, code: int) -> None:
        self._note_event()
        self._gui.io.add_input_character(code)

    def _entered(self, handle: Any, inside: int) -> None:
        if inside:
            self._set_cursor(*glfw.get_cursor_pos(handle))
        else:
            self._note_event()
            self._gui.io.add_mouse_pos_event(NOWHERE, NOWHERE)

    def _focused(self, _: Any, focused: int) -> None:
        self._note_event()
        self.focused = bool(focused)
        self._gui.io.add_focus_event(self.focused)
        if not focused:
            self._mouse.let_go()

    def _dropped(self, _: Any, paths: list[str]) -> None:
        self._note_event()
        self._session.post(Open(Path(paths[0])))  # one window, one scene
        if len(paths) > 1:
            _log.info("%d files were dropped at once; only %s is opened", len(paths), paths[0])

    def _note_event(self) -> None:
        self.last_event = time.perf_counter()

    def _set_cursor(self, x: float, y: float) -> None:
        """Store the position of the mouse, in pixels; `x` and `y` are window coordinates."""
        self._note_event()
        pixels, extent = self._window.size, self._window.extent
        self._cursor = (x * pixels[0] / max(extent[0], 1), y * pixels[1] / max(extent[1], 1))
        self._gui.io.add_mouse_pos_event(*self._cursor)

    def _pass_modifiers(self) -> None:
        """As the keyboard has them: the event's own are, on X11, those before it."""
        for of_imgui, keys in MODIFIERS.items():
            self._gui.io.add_key_event(of_imgui, self._down(keys))

    def _down(self, keys: Sequence[int]) -> bool:
        return any(glfw.get_key(self._window.handle, key) == glfw.PRESS for key in keys)


_WHEEL_MODIFIERS = imgui.Key.mod_shift, imgui.Key.mod_alt, imgui.Key.mod_ctrl
_LOCKS = glfw.MOD_CAPS_LOCK | glfw.MOD_NUM_LOCK | glfw.MOD_SHIFT
