"""Keys and cursors of a browser, as GLFW and ImGui have them."""

from __future__ import annotations

from typing import Literal

import glfw
from imgui_bundle import imgui

Modifier = Literal["shift", "control", "alt", "meta"]
MODIFIERS: dict[Modifier, tuple[int, int]] = {  # GLFW's bit, and the key that is taken to be held
    "shift": (glfw.MOD_SHIFT, glfw.KEY_LEFT_SHIFT),
    "control": (glfw.MOD_CONTROL, glfw.KEY_LEFT_CONTROL),
    "alt": (glfw.MOD_ALT, glfw.KEY_LEFT_ALT),
    "meta": (glfw.MOD_SUPER, glfw.KEY_LEFT_SUPER),
}
BUTTONS = (glfw.MOUSE_BUTTON_LEFT, glfw.MOUSE_BUTTON_MIDDLE, glfw.MOUSE_BUTTON_RIGHT)  # in the order of the DOM
ACTIONS = {"press": glfw.PRESS, "release": glfw.RELEASE, "repeat": glfw.REPEAT}
CURSORS = {
    imgui.MouseCursor_.text_input.value: "text",
    imgui.MouseCursor_.hand.value: "pointer",
    imgui.MouseCursor_.resize_ew.value: "ew-resize",
    imgui.MouseCursor_.resize_ns.value: "ns-resize",
    imgui.MouseCursor_.resize_nwse.value: "nwse-resize",
    imgui.MouseCursor_.resize_nesw.value: "nesw-resize",
    imgui.MouseCursor_.not_allowed.value: "not-allowed",
}
KEYS = {  # by `KeyboardEvent.code`: where a key is, whatever is printed on it
    **{f"Key{chr(key)}": key for key in range(glfw.KEY_A, glfw.KEY_Z + 1)},
    **{f"Digit{number}": glfw.KEY_0 + number for number in range(10)},
    **{f"Numpad{number}": glfw.KEY_KP_0 + number for number in range(10)},
    **{f"F{number}": glfw.KEY_F1 + number - 1 for number in range(1, 25)},
    "Space": glfw.KEY_SPACE,
    "Enter": glfw.KEY_ENTER,
    "NumpadEnter": glfw.KEY_KP_ENTER,
    "NumpadAdd": glfw.KEY_KP_ADD,
    "NumpadSubtract": glfw.KEY_KP_SUBTRACT,
    "Tab": glfw.KEY_TAB,
    "Escape": glfw.KEY_ESCAPE,
    "Backspace": glfw.KEY_BACKSPACE,
    "Delete": glfw.KEY_DELETE,
    "Insert": glfw.KEY_INSERT,
    "Home": glfw.KEY_HOME,
    "End": glfw.KEY_END,
    "PageUp": glfw.KEY_PAGE_UP,
    "PageDown": glfw.KEY_PAGE_DOWN,
    "ArrowLeft": glfw.KEY_LEFT,
    "ArrowRight": glfw.KEY_RIGHT,
    "ArrowUp": glfw.KEY_UP,
    "ArrowDown": glfw.KEY_DOWN,
    "ShiftLeft": glfw.KEY_LEFT_SHIFT,
    "ShiftRight": glfw.KEY_RIGHT_SHIFT,
    "ControlLeft": glfw.KEY_LEFT_CONTROL,
    "ControlRight": glfw.KEY_RIGHT_CONTROL,
    "AltLeft": glfw.KEY_LEFT_ALT,
    "AltRight": glfw.KEY_RIGHT_ALT,
    "MetaLeft": glfw.KEY_LEFT_SUPER,
    "MetaRight": glfw.KEY_RIGHT_SUPER,
}
OTHER = glfw.KEY_UNKNOWN  # of a key that has no name here: what is printed on it counts


def cursor(shape: int) -> str:
    """The CSS cursor for one of ImGui's shapes."""
    return CURSORS.get(shape, "default")
