"""Copy and paste between the GUI's fields and other programs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import glfw
from imgui_bundle import imgui

from ..panels import Gui


def share_clipboard(gui: Gui) -> None:
    """Let the GUI's text fields use the clipboard of the window system. There must be a window."""
    unused: Any = None  # glfw has one clipboard for all windows

    def paste() -> str:
        with warnings.catch_warnings():  # glfw warns if there is no text in it
            warnings.simplefilter("ignore", glfw.GLFWError)
            text = glfw.get_clipboard_string(unused) or b""
        return text.decode(errors="replace") if isinstance(text, bytes) else text

    def copy(text: str) -> None:
        glfw.set_clipboard_string(unused, text)

    set_clipboard(gui, paste, copy)


def set_clipboard(gui: Gui, paste: Callable[[], str], copy: Callable[[str], None]) -> None:
    """Let the GUI's text fields take what `paste` returns, and pass what is copied there to `copy`."""
    _ = gui.io  # its context is the current one now
    platform = imgui.get_platform_io()
    platform.platform_get_clipboard_text_fn = lambda _: paste()
    platform.platform_set_clipboard_text_fn = lambda _, text: copy(text)
