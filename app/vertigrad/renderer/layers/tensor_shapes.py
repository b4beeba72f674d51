"""In which forms a tensor of some shape can be drawn, and in which one it is by default."""

from __future__ import annotations

import math

MOST_BARS = 2048  # more elements than that are drawn as an image


def stripped(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Without leading axes of 1; one axis if there is only one that is not of 1."""
    if sum(size != 1 for size in shape) <= 1:
        return (math.prod(shape),)
    leading = next((axis for axis, size in enumerate(shape) if size != 1), len(shape))
    return shape[leading:]


def planes(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Channels, rows and columns; a vector is folded into rows about as long as there are."""
    if len(shape) < 2:
        columns = math.isqrt(max(math.prod(shape) - 1, 0)) + 1
        return 1, -(-math.prod(shape) // columns), columns
    return math.prod(shape[:-2]), shape[-2], shape[-1]


def default_form(shape: tuple[int, ...]) -> str:
    """The form of a tensor of this shape."""
    own = stripped(shape)
    if len(own) < 2:
        return "bars" if math.prod(own) <= MOST_BARS else "image"
    if len(own) == 2 and own[1] in (2, 3):
        return "points"
    if len(own) == 3 and own[1:] == (2, 3):
        return "lines"
    if len(shape) >= 5 and len(own) >= 3 and min(own[-3:]) > 1:
        return "volume"
    return "image"


def objection(form: str, shape: tuple[int, ...]) -> str:
    """Why a tensor of this shape cannot be drawn in a form; empty if it can."""
    own = stripped(shape)
    match form:
        case "bars" if math.prod(own) > MOST_BARS:
            return f"{math.prod(own):,} bars; at most {MOST_BARS:,} can be drawn"
        case "points" if len(own) < 2 or own[-1] < 2:
            return f"points need rows of 2 numbers or more, not the shape {own}"
        case "lines" if len(own) < 2 or own[-1] != 3 or own[-2] < 2:
            return f"lines have the shape (lines, rows, 3), not {own}"
        case "surface" if len(own) < 2 or min(own[-2:]) < 2:
            return f"a surface needs 2 rows and columns, not the shape {own}"
        case "volume" if len(own) < 3 or min(own[-3:]) < 2:
            return f"a volume needs three axes of 2 elements or more, not the shape {own}"
    return ""
