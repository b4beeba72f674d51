"""Events of rendercanvas's front end as those of a remote canvas.

The names and units of the former: https://github.com/pygfx/renderview.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..remote.events import Button, Focus, InputEvent, Key, Leave, Paste, Pointer, Wheel
from ..viewer import dom

BUTTONS = {1: 0, 2: 2, 3: 1}  # rendercanvas's left, right, middle as the DOM counts
NOTCH = 100.0  # pixels that browsers scroll for one notch of a wheel
MODIFIERS = dom.MODIFIERS.keys()
CODES = {
    " ": "Space",
    **{name: f"{name}Left" for name in ("Shift", "Control", "Alt", "Meta")},
    **{name: name for name in dom.KEYS if not name.startswith(("Key", "Digit", "Numpad"))},
}


class WidgetEvents:
    """Translates. `ratio` is how many pixels of the image one of the browser's has."""

    def __init__(self) -> None:
        self.ratio = 1.0
        self._typed = ""  # the character that the last key typed, until it is reported once more as a character

    def read(self, event: dict[str, Any]) -> InputEvent | None:
        """The event, or None if nothing here has a use for it."""
        translate = _KINDS.get(event.get("type", ""))
        return None if translate is None else translate(self, event)

    def pointer(self, event: dict[str, Any]) -> Pointer:
        """A movement of the mouse."""
        return Pointer(**self._position(event))

    def button(self, event: dict[str, Any]) -> Button | None:
        """A button of the mouse; None for one that is not used."""
        button = BUTTONS.get(event["button"])
        pressed = event["type"] == "pointer_down"
        return None if button is None else Button(**self._position(event), button=button, pressed=pressed)

    def wheel(self, event: dict[str, Any]) -> Wheel:
        """The wheel: rendercanvas's values are pixels, positive down and right."""
        return Wheel(**self._position(event), dx=-event["dx"] / NOTCH, dy=-event["dy"] / NOTCH)

    def key(self, event: dict[str, Any]) -> Key:
        """A key; rendercanvas reports what it means, not where it is."""
        name, pressed, held = str(event["key"]), event["type"] == "key_down", _modifiers(event)
        if pressed and len(name) == 1 and not {"control", "meta"} & set(held):
            self._typed = name
        return Key(code=_code(name), key=name[:32], action="press" if pressed else "release", modifiers=held)

    def character(self, event: dict[str, Any]) -> Paste | None:
        """A text; None for the character of a key, which the key typed already."""
        text, typed, self._typed = event.get("data") or "", self._typed, ""
        if not text or text == typed or event.get("is_composing"):
            return None
        return Paste(text=text)

    def leave(self, event: dict[str, Any]) -> Leave:
        """The mouse left."""
        return Leave()

    def focus(self, event: dict[str, Any]) -> Focus:
        """The widget got the keyboard, or lost it."""
        return Focus(focused=event["type"] == "focus_in")

    def _position(self, event: dict[str, Any]) -> dict[str, Any]:
        x, y = event["x"] * self.ratio, event["y"] * self.ratio
        return {"x": x, "y": y, "modifiers": _modifiers(event)}


def _modifiers(event: dict[str, Any]) -> tuple[dom.Modifier, ...]:
    held = {str(name).lower() for name in event.get("modifiers", ())}
    return tuple(name for name in MODIFIERS if name in held)


def _code(name: str) -> str:
    """Where a key is on the common keyboard, by what it means."""
    if len(name) == 1 and name.isascii() and name.isalnum():
        return f"Key{name.upper()}" if name.isalpha() else f"Digit{name}"
    return CODES.get(name, "")


_KINDS: dict[str, Callable[[WidgetEvents, dict[str, Any]], InputEvent | None]] = {
    "pointer_move": WidgetEvents.pointer,
    "pointer_down": WidgetEvents.button,
    "pointer_up": WidgetEvents.button,
    "pointer_leave": WidgetEvents.leave,
    "wheel": WidgetEvents.wheel,
    "key_down": WidgetEvents.key,
    "key_up": WidgetEvents.key,
    "char": WidgetEvents.character,
    "focus_in": WidgetEvents.focus,
    "focus_out": WidgetEvents.focus,
}
