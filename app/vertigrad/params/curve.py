"""Curves as texts of points: "0:0 0.4:0.1 1:1", straight between them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ..errors import ParameterError
from .shown import shown

MOST_POINTS = 32
Points = tuple[tuple[float, float], ...]


def parse_curve(text: str) -> Points:
    """The points (x, y) of a curve: from 0 to 1 in both, x rising from 0 to 1. Raises `ParameterError`."""
    expected = 'points "x:y" from 0:... to 1:..., such as "0:0 0.4:0.1 1:1"'
    try:
        pairs = [tuple(float(part) for part in word.split(":")) for word in text.split()]
        points = tuple((x, y) for x, y in pairs)
    except ValueError:
        raise ParameterError(f"expected {expected}, got {shown(text)}") from None
    if not 2 <= len(points) <= MOST_POINTS:
        raise ParameterError(f"expected 2 to {MOST_POINTS} {expected}, got {len(points)}")
    if not all(0.0 <= part <= 1.0 for point in points for part in point):
        raise ParameterError(f"expected {expected}; {shown(text)} has numbers that are not from 0 to 1")
    rising = all(a[0] <= b[0] for a, b in pairwise(points))
    if not rising or points[0][0] != 0.0 or points[-1][0] != 1.0:
        raise ParameterError(f"expected {expected}; x of {shown(text)} does not rise from 0 to 1")
    return points


def curve_text(points: Sequence[tuple[float, float]]) -> str:
    """The text of a curve, with three digits."""
    return " ".join(f"{round(x, 3):g}:{round(y, 3):g}" for x, y in points)


def sampled(text: str, count: int) -> np.ndarray:
    """The curve at `count` positions from 0 to 1, f32. Of points above each other the last holds from there on."""
    x, y = np.array(parse_curve(text)).T
    at = np.linspace(0.0, 1.0, count)
    step = np.minimum(np.searchsorted(x, at, side="right"), len(x) - 1)
    low = step - 1
    width = x[step] - x[low]
    part = np.clip((at - x[low]) / np.where(width > 0, width, 1.0), 0.0, 1.0)
    return (y[low] + part * (y[step] - y[low])).astype(np.float32)
