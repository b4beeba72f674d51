"""Keys and mouse: first to the GUI, then, if it does not want them, to camera and session."""

from __future__ import annotations

import math

from imgui_bundle import imgui

import glfw

from ..panels import Gui
from ..session import Session
from ..session.commands import Command, Home, Orbit, Pan, Play, Reload, Reset, Step, Zoom
from .window import Window

ORBIT = math.pi  # radians for a drag over the height of the window
ZOOM = 1.15  # factor for each notch of the wheel

_KEYS = {
    glfw.KEY_TAB: imgui.Key.tab,
    glfw.KEY_LEFT: imgui.Key.left_arrow,
    glfw.KEY_RIGHT: imgui.Key.right_arrow,
    glfw.KEY_UP: imgui.Key.up_arrow,
    glfw.KEY_DOWN: imgui.Key.down_arrow,
    glfw.KEY_HOME: imgui.Key.home,
    glfw.KEY_END: imgui.Key.end,
    glfw.KEY_DELETE: imgui.Key.delete,
    glfw.KEY_BACKSPACE: imgui.Key.backspace,
    glfw.KEY_ENTER: imgui.Key.enter,
    glfw.KEY_KP_ENTER: imgui.Key.keypad_enter,
    glfw.KEY_ESCAPE: imgui.Key.escape,
    glfw.KEY_A: imgui.Key.a,
    glfw.KEY_C: imgui.Key.c,
    glfw.KEY_V: imgui.Key.v,
    glfw.KEY_X: imgui.Key.x,
    glfw.KEY_Z: imgui.Key.z,
}
_MODIFIERS = {
    glfw.MOD_CONTROL: imgui.Key.mod_ctrl,
    glfw.MOD_SHIFT: imgui.Key.mod_shift,
    glfw.MOD_ALT: imgui.Key.mod_alt,
    glfw.MOD_SUPER: imgui.Key.mod_super,
}


class Input:
    """Left drag orbits, right or middle drag (or shift and left) pans, the wheel zooms towards the cursor.

    Space plays and pauses, N steps, R resets, F5 reloads, H brings the camera home, G hides the panels.
    """

    def __init__(self, window: Window, session: Session, gui: Gui):
        self._window, self._session, self._gui = window, session, gui
        self._cursor = (0.0, 0.0)
        self._dragging: int | None = None
        handle = window.handle
        glfw.set_cursor_pos_callback(handle, self._moved)
        glfw.set_mouse_button_callback(handle, self._button)
        glfw.set_scroll_callback(handle, self._scrolled)
        glfw.set_key_callback(handle, self._key)
        glfw.set_char_callback(handle, lambda _, code: gui.io.add_input_character(code))
        glfw.set_cursor_enter_callback(handle, self._entered)
        glfw.set_window_focus_callback(handle, lambda _, focused: gui.io.add_focus_event(bool(focused)))

    def _pixels(self, x: float, y: float) -> tuple[float, float]:
        """Window coordinates as pixels of the framebuffer."""
        width, height = glfw.get_window_size(self._window.handle)
        pixels = self._window.size
        return x * pixels[0] / max(width, 1), y * pixels[1] / max(height, 1)

    def _moved(self, _: object, x: float, y: float) -> None:
        x, y = self._pixels(x, y)
        self._gui.io.add_mouse_pos_event(x, y)
        dx, dy = x - self._cursor[0], y - self._cursor[1]
        self._cursor = (x, y)
        height = self._window.size[1]
        if self._dragging is None or not height:
            return
        shift = glfw.get_key(self._window.handle, glfw.KEY_LEFT_SHIFT) == glfw.PRESS
        if self._dragging == glfw.MOUSE_BUTTON_LEFT and not shift:
            self._session.post(Orbit(-dx / height * ORBIT, dy / height * ORBIT))
        else:
            self._session.post(Pan(-dx / height, dy / height))

    def _button(self, _: object, button: int, action: int, modifiers: int) -> None:
        io = self._gui.io
        self._modifiers(modifiers)
        if button <= glfw.MOUSE_BUTTON_MIDDLE:
            io.add_mouse_button_event(button, action == glfw.PRESS)
        if action == glfw.RELEASE:
            self._dragging = None
        elif not io.want_capture_mouse:
            self._dragging = button

    def _scrolled(self, _: object, dx: float, dy: float) -> None:
        io = self._gui.io
        io.add_mouse_wheel_event(dx, dy)
        width, height = self._window.size
        if io.want_capture_mouse or not height:
            return
        cursor = (2.0 * self._cursor[0] / width - 1.0, 1.0 - 2.0 * self._cursor[1] / height)
        self._session.post(Zoom(ZOOM**dy, cursor, width / height))

    def _key(self, _: object, key: int, code: int, action: int, modifiers: int) -> None:
        io = self._gui.io
        self._modifiers(modifiers)
        if key in _KEYS and action != glfw.REPEAT:
            io.add_key_event(_KEYS[key], action == glfw.PRESS)
        if action == glfw.RELEASE or io.want_capture_keyboard:
            return
        if key == glfw.KEY_G:
            self._gui.visible = not self._gui.visible
        command = self._command(key)
        if command is not None:
            self._session.post(command)

    def _command(self, key: int) -> Command | None:
        match key:
            case glfw.KEY_SPACE:
                return Play(not self._session.playing)
            case glfw.KEY_N:
                return Step()
            case glfw.KEY_R:
                return Reset()
            case glfw.KEY_F5:
                return Reload()
            case glfw.KEY_H:
                return Home()
        return None

    def _entered(self, _: object, inside: int) -> None:
        if not inside:
            self._gui.io.add_mouse_pos_event(-1e30, -1e30)  # ImGui's "nowhere"

    def _modifiers(self, modifiers: int) -> None:
        for flag, key in _MODIFIERS.items():
            self._gui.io.add_key_event(key, bool(modifiers & flag))
