"""Values in messages: as in a scene file, on one line, shortened if necessary."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from typing import Any

_LONGEST = 60  # characters


def shown(value: Any) -> str:
    """A plain value as the scene file writes it, cut short if it is long."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and abs(value) >= 10**40:
        return "a number of more than 40 digits"
    if isinstance(value, str):
        cut = value if len(value) <= _LONGEST else value[: _LONGEST - 1] + "…"
        return json.dumps(cut, ensure_ascii=False)
    text = repr(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def described(value: Any) -> str:
    """A value and its type in the words of the scene file: `"abc" (string)`, `true (boolean)`, `a table`."""
    match value:
        case None:
            return "nothing"
        case Mapping():
            return "a table"
        case bool():
            return f"{shown(value)} (boolean)"
        case str():
            return f"{shown(value)} (string)"
        case int():
            return f"{shown(value)} (integer)"
        case float():
            return f"{shown(value)} (number)"
        case datetime() | date() | time():
            return f"{value} (date or time)"
        case Sequence():
            return f"an array of {counted(value)}"
    return f"a {type(value).__name__}"


def counted(value: Sequence[Any]) -> str:
    """`1 value`, `3 values`."""
    return f"{len(value)} value" if len(value) == 1 else f"{len(value)} values"
