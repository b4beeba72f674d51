"""`Moment`: where light comes from, and what time it is, when a picture is drawn."""

from __future__ import annotations

from typing import NamedTuple


class Moment(NamedTuple):
    """Directions in world space, of unit length, toward the sun and toward the sky overhead; seconds simulated."""

    sun: tuple[float, float, float]
    up: tuple[float, float, float]
    time: float = 0.0
