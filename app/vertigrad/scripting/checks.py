"""Checks of a script's arguments: the errors name the argument, and what fits."""

from __future__ import annotations

import math
import operator
from typing import Any

from ..errors import InputError, SceneError


def checked_text(value: Any, argument: str) -> str:
    """A text with letters in it. Raises `InputError`."""
    if not isinstance(value, str):
        raise InputError(f"{argument}: expected a text, got {described(value)}")
    if not value.strip():
        raise InputError(f"{argument}: the text is empty")
    return value


def checked_integer(value: Any, argument: str, least: int = 0) -> int:
    """An integer, of NumPy too, that is at least `least`. Raises `InputError`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"{argument}: expected an integer, got {described(value)}") from None
    if number < least:
        raise InputError(f"{argument}: expected an integer from {least} on, got {number}")
    return number


def checked_number(value: Any, argument: str) -> float:
    """A finite number, of NumPy too. Raises `InputError`."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{argument}: expected a number, got {described(value)}") from None
    if not math.isfinite(number):
        raise InputError(f"{argument}: expected a finite number, got {number}")
    return number


def checked_size(size: Any) -> tuple[int, int]:
    """Width and height in pixels. Raises `InputError`."""
    try:
        width, height = (operator.index(side) for side in size)
    except (TypeError, ValueError):
        raise InputError(f"size: expected (width, height) in pixels, such as (1280, 720), got {size!r}") from None
    if min(width, height) < 1:
        raise InputError(f"size: expected at least one pixel along each side, got {size!r}")
    return width, height


def problems_of(error: SceneError, name: str) -> str:
    """What does not fit, by the last part of its key, without the place in a file that there is not."""
    lines = []
    for problem in error.problems:
        key, message = problem.key.rpartition(".")[2], problem.message.removeprefix(f"layer {name!r}: ")
        lines.append(message if key == name else f"{key}: {message}")
    return "; ".join(dict.fromkeys(lines))


def described(value: Any) -> str:
    """A value in a message: itself if it is short, with its type."""
    text = repr(value)
    kind = type(value).__name__
    return f"{text} ({kind})" if len(text) <= 40 else f"a value of type {kind}"
