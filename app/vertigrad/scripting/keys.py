"""Names of keys, as scripts write them and as the table of actions does."""

from __future__ import annotations

from ..errors import InputError
from ..params import unknown
from .checks import checked_text

NAMED = (
    *("Space", "Enter", "Esc", "Tab", "Backspace", "Del", "Home", "End", "PageUp", "PageDown"),
    *("Left", "Right", "Up", "Down", "Plus", "Minus"),
    *(f"F{number}" for number in range(1, 25)),
)
_MODIFIERS = ("Ctrl", "Alt", "Shift")  # in the order of the table of actions
_SYNONYMS = {
    **{name.casefold(): name for name in (*NAMED, *_MODIFIERS)},
    **{
        "escape": "Esc",
        "return": "Enter",
        "delete": "Del",
        "control": "Ctrl",
        "cmd": "Ctrl",
        "+": "Plus",
        "-": "Minus",
    },
}


def key_name(written: str) -> str:
    """A key such as "space", "r" or "ctrl+shift+left" as the table of actions has it: "Ctrl+Shift+Left".

    Raises `InputError` for what is no key.
    """
    checked_text(written, "key")
    *held, key = [part.strip() for part in written.replace("++", "+Plus").split("+")] if written != "+" else ["Plus"]
    modifiers = {_SYNONYMS.get(part.casefold(), part) for part in held}
    if wrong := sorted(modifiers - {*_MODIFIERS}):
        raise InputError(f"{written!r}: {unknown('modifier', wrong[0], _MODIFIERS)}")
    name = _SYNONYMS.get(key.casefold(), key.upper() if len(key) == 1 and key.isprintable() and key != " " else "")
    if not name or name in _MODIFIERS:
        raise InputError(f"{written!r}: {unknown('key', key, NAMED)}; or one letter, digit or sign")
    return "".join(f"{modifier}+" for modifier in _MODIFIERS if modifier in modifiers) + name
