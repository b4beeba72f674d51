"""`Input`: what the window system reports, as events of the GUI and the session."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import glfw

from ..panels import Gui
from ..session import Session
from ..session.commands import Open
from .events import Events
from .keys import printed

if TYPE_CHECKING:
    from .window import Window

_log = logging.getLogger("vertigrad")


class Input:
    """Connects the callbacks of a window with `Events`. Units of the mouse's coordinates become pixels."""

    def __init__(self, window: Window, session: Session, gui: Gui):
        self._window, self._session = window, session
        self.events = events = Events(session, gui, self._is_down)
        handle = window.handle
        glfw.set_cursor_pos_callback(handle, lambda _, x, y: events.move(*self._pixel(x, y)))
        glfw.set_mouse_button_callback(handle, self._button)
        glfw.set_scroll_callback(handle, lambda _, dx, dy: events.scroll(dx, dy))
        glfw.set_key_callback(handle, self._key)
        glfw.set_char_callback(handle, lambda _, code: events.character(code))
        glfw.set_cursor_enter_callback(handle, self._entered)
        glfw.set_window_focus_callback(handle, lambda _, focused: events.focus(bool(focused)))
        glfw.set_drop_callback(handle, self._dropped)  # pyright: ignore[reportArgumentType]

    def _button(self, _: Any, button: int, action: int, modifiers: int) -> None:
        self.events.button(button, action == glfw.PRESS, modifiers)

    def _key(self, _: Any, key: int, code: int, action: int, modifiers: int) -> None:
        self.events.key(key, printed(key, code), action, modifiers)

    def _entered(self, handle: Any, inside: int) -> None:
        if inside:
            self.events.set_position(*self._pixel(*glfw.get_cursor_pos(handle)))
        else:
            self.events.leave()

    def _dropped(self, _: Any, paths: list[str]) -> None:
        self.events.note()
        self._session.post(Open(Path(paths[0])))  # one window, one scene
        if len(paths) > 1:
            _log.info("%d files were dropped at once; only %s is opened", len(paths), paths[0])

    def _pixel(self, x: float, y: float) -> tuple[float, float]:
        pixels, extent = self._window.size, self._window.extent
        return x * pixels[0] / max(extent[0], 1), y * pixels[1] / max(extent[1], 1)

    def _is_down(self, keys: Sequence[int]) -> bool:
        return any(glfw.get_key(self._window.handle, key) == glfw.PRESS for key in keys)
