"""Keys: how they are written, which action they mean, and when the GUI needs them for itself."""

from __future__ import annotations

from collections.abc import Sequence

from imgui_bundle import imgui

from .actions import Action

FIELD_KEYS = {f"Ctrl+{letter}" for letter in "ACVXYZ"} | {"Ctrl+Shift+Z"}  # text fields have their own use for them
MOVING_KEYS = {"Space", "Enter", "Esc", "Tab", "Shift+Tab", "Left", "Right", "Up", "Down", "Home", "End"}


def by_keys(actions: Sequence[Action]) -> dict[str, Action]:
    """The actions by each of their keys."""
    return {keys: action for action in actions for keys in action.keys}


def are_free(keys: str, io: imgui.IO) -> bool:
    """Whether keys may mean an action now: not while the GUI itself has a use for them."""
    plain = not keys.startswith(("Ctrl+", "Alt+")) and not _is_function_key(keys)
    if io.want_text_input:
        return not plain and keys not in FIELD_KEYS
    if imgui.is_popup_open("", imgui.PopupFlags_.any_popup.value):
        return not plain
    return not (keys in MOVING_KEYS and io.nav_active and io.nav_visible)


def is_modal() -> bool:
    """Whether a dialog waits for an answer: whatever lies behind it waits too."""
    return imgui.internal.get_top_most_popup_modal() is not None


def _is_function_key(keys: str) -> bool:
    last = keys.split("+")[-1]
    return len(last) > 1 and last[0] == "F" and last[1:].isdigit()
