"""The layers there are, by the name a scene gives as `type`."""

from __future__ import annotations

from collections.abc import Mapping

from .base import Layer
from .isosurface import IsosurfaceLayer
from .points import PointsLayer
from .surface import SurfaceLayer
from .volume import VolumeLayer

_TYPES: Mapping[str, type[Layer]] = {
    "points": PointsLayer,
    "surface": SurfaceLayer,
    "isosurface": IsosurfaceLayer,
    "volume": VolumeLayer,
}


def types() -> Mapping[str, type[Layer]]:
    """Each layer class by its name in a scene."""
    return _TYPES
