"""`Moment`: the light and the simulated time when an image is drawn."""

from __future__ import annotations

from typing import NamedTuple

from .area_lights import AreaLight


class Moment(NamedTuple):
    """Unit vectors in world space: toward the sun, upward, and forward; the simulated time in seconds; area lights."""

    sun: tuple[float, float, float]
    up: tuple[float, float, float]
    time: float = 0.0
    forward: tuple[float, float, float] = (0.0, 0.0, -1.0)  # along the line of sight in the middle of the image
    lights: tuple[AreaLight, ...] = ()
