"""`Moment`: where light comes from, and what time it is, when an image is drawn."""

from __future__ import annotations

from typing import NamedTuple


class Moment(NamedTuple):
    """Directions in world space, of unit length: toward the sun, the sky overhead, and forward; seconds simulated."""

    sun: tuple[float, float, float]
    up: tuple[float, float, float]
    time: float = 0.0
    forward: tuple[float, float, float] = (0.0, 0.0, -1.0)  # along the line of sight in the middle of the image
