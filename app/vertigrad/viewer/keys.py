"""Keys, buttons and cursors of glfw by the names that ImGui has for them."""

from __future__ import annotations

import sys

import glfw
from imgui_bundle import imgui

_SPECIAL = {  # keys that are no letters: as ImGui has them, and as the table of actions writes them
    glfw.KEY_TAB: (imgui.Key.tab, "Tab"),
    glfw.KEY_LEFT: (imgui.Key.left_arrow, "Left"),
    glfw.KEY_RIGHT: (imgui.Key.right_arrow, "Right"),
    glfw.KEY_UP: (imgui.Key.up_arrow, "Up"),
    glfw.KEY_DOWN: (imgui.Key.down_arrow, "Down"),
    glfw.KEY_PAGE_UP: (imgui.Key.page_up, "PageUp"),
    glfw.KEY_PAGE_DOWN: (imgui.Key.page_down, "PageDown"),
    glfw.KEY_HOME: (imgui.Key.home, "Home"),
    glfw.KEY_END: (imgui.Key.end, "End"),
    glfw.KEY_INSERT: (imgui.Key.insert, ""),
    glfw.KEY_DELETE: (imgui.Key.delete, "Del"),
    glfw.KEY_BACKSPACE: (imgui.Key.backspace, "Backspace"),
    glfw.KEY_SPACE: (imgui.Key.space, "Space"),
    glfw.KEY_ENTER: (imgui.Key.enter, "Enter"),
    glfw.KEY_KP_ENTER: (imgui.Key.keypad_enter, "Enter"),
    glfw.KEY_ESCAPE: (imgui.Key.escape, "Esc"),
}
KEYS = {key: of_imgui for key, (of_imgui, _) in _SPECIAL.items()}
LETTERS = {  # those that ImGui's text fields know commands for, by what is printed on the key
    "a": imgui.Key.a,
    "c": imgui.Key.c,
    "v": imgui.Key.v,
    "x": imgui.Key.x,
    "y": imgui.Key.y,
    "z": imgui.Key.z,
}
MODIFIERS = {
    imgui.Key.mod_ctrl: (glfw.KEY_LEFT_CONTROL, glfw.KEY_RIGHT_CONTROL),
    imgui.Key.mod_shift: (glfw.KEY_LEFT_SHIFT, glfw.KEY_RIGHT_SHIFT),
    imgui.Key.mod_alt: (glfw.KEY_LEFT_ALT, glfw.KEY_RIGHT_ALT),
    imgui.Key.mod_super: (glfw.KEY_LEFT_SUPER, glfw.KEY_RIGHT_SUPER),
}
CURSORS = {
    imgui.MouseCursor_.text_input.value: glfw.IBEAM_CURSOR,
    imgui.MouseCursor_.hand.value: glfw.HAND_CURSOR,
    imgui.MouseCursor_.resize_ew.value: glfw.HRESIZE_CURSOR,
    imgui.MouseCursor_.resize_ns.value: glfw.VRESIZE_CURSOR,
}

NAMES = {
    **{key: name for key, (_, name) in _SPECIAL.items()},
    glfw.KEY_KP_ADD: "Plus",
    glfw.KEY_KP_SUBTRACT: "Minus",
    **{glfw.KEY_F1 + number: f"F{number + 1}" for number in range(24)},
    **{key: str(number) for number in range(10) for key in (glfw.KEY_0 + number, glfw.KEY_KP_0 + number)},
}
SYMBOLS = {"+": "Plus", "-": "Minus"}  # whose signs have another meaning in "Ctrl+A"


def written(key: int, printed: str, modifiers: int) -> str:
    """A key with its modifiers as the table of actions writes it, such as "Ctrl+Shift+P"; empty if it has no name.

    On a Mac, Command is what Ctrl is elsewhere.
    """
    name = NAMES.get(key) or letter(key, printed).upper() or _symbol(printed)
    if not name:
        return ""
    control = glfw.MOD_CONTROL | glfw.MOD_SUPER if sys.platform == "darwin" else glfw.MOD_CONTROL
    held = ((control, "Ctrl+"), (glfw.MOD_ALT, "Alt+"), (glfw.MOD_SHIFT, "Shift+"))
    if modifiers & glfw.MOD_SUPER and sys.platform != "darwin":
        return ""  # those are the desktop's
    return "".join(word for mask, word in held if modifiers & mask) + name


def _symbol(printed: str) -> str:
    return SYMBOLS.get(printed, printed) if len(printed) == 1 and printed.isprintable() else ""


def printed(key: int, code: int) -> str:
    """What is printed on a key of this keyboard, by its scan code; empty if it is unknown."""
    name = glfw.get_key_name(key, code) or ""
    return name.decode(errors="replace") if isinstance(name, bytes) else name


def letter(key: int, printed: str) -> str:
    """The letter on a key, whatever the keyboard's layout; empty if it is no single letter."""
    if len(printed) == 1 and printed.isascii() and printed.isalpha():
        return printed.lower()
    # A layout without Latin letters: where the letter is on the common one.
    return chr(key).lower() if glfw.KEY_A <= key <= glfw.KEY_Z and not printed.isascii() else ""
