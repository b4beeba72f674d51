"""Keys, buttons and cursors of glfw by the names that ImGui has for them."""

from __future__ import annotations

import glfw
from imgui_bundle import imgui

KEYS = {
    glfw.KEY_TAB: imgui.Key.tab,
    glfw.KEY_LEFT: imgui.Key.left_arrow,
    glfw.KEY_RIGHT: imgui.Key.right_arrow,
    glfw.KEY_UP: imgui.Key.up_arrow,
    glfw.KEY_DOWN: imgui.Key.down_arrow,
    glfw.KEY_PAGE_UP: imgui.Key.page_up,
    glfw.KEY_PAGE_DOWN: imgui.Key.page_down,
    glfw.KEY_HOME: imgui.Key.home,
    glfw.KEY_END: imgui.Key.end,
    glfw.KEY_INSERT: imgui.Key.insert,
    glfw.KEY_DELETE: imgui.Key.delete,
    glfw.KEY_BACKSPACE: imgui.Key.backspace,
    glfw.KEY_SPACE: imgui.Key.space,
    glfw.KEY_ENTER: imgui.Key.enter,
    glfw.KEY_KP_ENTER: imgui.Key.keypad_enter,
    glfw.KEY_ESCAPE: imgui.Key.escape,
}
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


def letter(key: int, code: int) -> str:
    """What is printed on a key, whatever the keyboard's layout; empty if it is no single letter."""
    name = glfw.get_key_name(key, code) or ""
    if isinstance(name, bytes):
        name = name.decode(errors="replace")
    if len(name) == 1 and name.isascii() and name.isalpha():
        return name.lower()
    # A layout without Latin letters: where the letter is on the common one.
    return chr(key).lower() if glfw.KEY_A <= key <= glfw.KEY_Z and not name.isascii() else ""
