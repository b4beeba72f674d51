"""Keys and mouse: events go to the GUI first, then, if it does not use them, to camera and session."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeAlias

import glfw
from imgui_bundle import imgui

from ..panels import Gui
from ..session import Session
from .keys import KEYS, LETTERS, MODIFIERS, letter, written
from .mouse import Mouse

FOCUSED = 4  # frames after a click until ImGui reports that text is typed: press, release, and one each to be known
NOWHERE = -3.4e38  # ImGui's coordinate of a mouse outside of the window


IsDown: TypeAlias = Callable[[Sequence[int]], bool]  # whether one of several keys is held


def nobody(keys: Sequence[int]) -> bool:
    """No key is held."""
    return False


class Events:
    """What the mouse does in the viewport is in `Mouse`, what keys do in the GUI's table of actions.

    Keys, buttons and modifiers are GLFW's numbers, wherever the events come from: a window, or a browser. Positions are
    in pixels of the window. `is_down` returns whether one of several keys is held.

    A drag that begins in the viewport stays with the camera, one that begins on a panel with the panel.
    Call `frame` before the events of each frame: what a key is for is not known for a few frames after a click on the
    GUI, which may have been one into a text field or out of it; such keys wait.
    """

    def __init__(self, session: Session, gui: Gui, is_down: IsDown):
        self._session, self._gui, self._is_down_here = session, gui, is_down
        self.also_down: IsDown = nobody  # of another keyboard
        self._cursor = (0.0, 0.0)  # where the mouse is
        self._mouse = Mouse(session, gui)
        self.last_event = time.perf_counter()
        self.focused = True  # until the window system reports otherwise
        self._frames, self._known_from = 0, 0  # frames so far, and the one from which ImGui knows what keys are for
        self._keys: list[tuple[str, bool]] = []  # that wait for it

    def frame(self) -> None:
        """A frame begins: keys that waited are for shortcuts, if not for a text field."""
        self._frames += 1
        if self._frames >= self._known_from:
            keys, self._keys = self._keys, []
            for name, repeated in keys:
                self._press(name, repeated)

    def set_position(self, x: float, y: float) -> None:
        """The mouse is at this pixel now, as it enters the window."""
        self.note()
        self._cursor = (x, y)
        self._gui.io.add_mouse_pos_event(x, y)

    def move(self, x: float, y: float) -> None:
        """The mouse moved to this pixel."""
        self.set_position(x, y)
        self._mouse.move(self._cursor)

    def leave(self) -> None:
        """The mouse left the window."""
        self.note()
        self._gui.io.add_mouse_pos_event(NOWHERE, NOWHERE)

    def button(self, button: int, pressed: bool, modifiers: int) -> None:
        """A button of the mouse went down or up."""
        self.note()
        self._pass_modifiers()
        if not pressed:
            self._mouse.release(button, self._cursor)
            return self._pass_button(button, pressed)
        if self._gui.io.want_text_input or self._gui.covers(*self._cursor):
            self._known_from = self._frames + FOCUSED
        if not self._gui.covers(*self._cursor):
            shift, ctrl, alt = (bool(modifiers & held) for held in (glfw.MOD_SHIFT, glfw.MOD_CONTROL, glfw.MOD_ALT))
            self._mouse.press(button, self._cursor, shift, ctrl, alt)
        self._pass_button(button, pressed)

    def scroll(self, dx: float, dy: float) -> None:
        """The wheel was turned by so many notches."""
        self.note()
        if self._gui.covers(*self._cursor):
            self._gui.io.add_mouse_wheel_event(dx, dy)
        else:
            shift, alt, ctrl = (self._is_down(MODIFIERS[key]) for key in _WHEEL_MODIFIERS)
            self._mouse.scroll(dx, dy, self._cursor, shift, alt, ctrl)

    def key(self, key: int, printed: str, action: int, modifiers: int) -> None:
        """A key, on which `printed` is printed, went down or up, or is held: a GLFW `action`."""
        self.note()
        io, name = self._gui.io, letter(key, printed)
        self._pass_modifiers()
        of_imgui = KEYS.get(key) or LETTERS.get(name)
        if of_imgui is not None and action != glfw.REPEAT:  # ImGui repeats by itself
            io.add_key_event(of_imgui, action == glfw.PRESS)
        shift = self._is_down(MODIFIERS[imgui.Key.mod_shift])
        settled = self._frames >= self._known_from and not self._keys
        free = settled and not io.want_text_input and not modifiers & ~_LOCKS and not self._gui.waits(self._session)
        if action != glfw.REPEAT and self._mouse.key(key, action == glfw.PRESS, shift, free):
            return
        if action == glfw.RELEASE:
            return
        pressed = written(key, printed, modifiers), action == glfw.REPEAT
        if settled:
            self._press(*pressed)
        else:
            self._keys.append(pressed)

    def character(self, code: int) -> None:
        """A character was typed."""
        self.note()
        self._gui.io.add_input_character(code)

    def focus(self, focused: bool) -> None:
        """The window got the keyboard, or lost it."""
        self.note()
        self.focused = focused
        self._gui.io.add_focus_event(focused)
        if not focused:
            self._mouse.let_go()

    def note(self) -> None:
        """Something happened: the user is there."""
        self.last_event = time.perf_counter()

    def _is_down(self, keys: Sequence[int]) -> bool:
        return self._is_down_here(keys) or self.also_down(keys)

    def _press(self, name: str, repeated: bool) -> None:
        done, workspace = self._gui.press(self._session, name, repeated), self._gui.workspace
        if done and (workspace.palette or workspace.gallery or workspace.browser):  # which begin with a text field
            self._known_from = self._frames + FOCUSED

    def _pass_button(self, button: int, pressed: bool) -> None:
        if button <= glfw.MOUSE_BUTTON_MIDDLE:
            self._gui.io.add_mouse_button_event(button, pressed)

    def _pass_modifiers(self) -> None:
        """As the keyboard has them: the event's own are, on X11, those before it."""
        for of_imgui, keys in MODIFIERS.items():
            self._gui.io.add_key_event(of_imgui, self._is_down(keys))


_WHEEL_MODIFIERS = imgui.Key.mod_shift, imgui.Key.mod_alt, imgui.Key.mod_ctrl
_LOCKS = glfw.MOD_CAPS_LOCK | glfw.MOD_NUM_LOCK | glfw.MOD_SHIFT
