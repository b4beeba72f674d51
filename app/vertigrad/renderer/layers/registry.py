"""The layers there are, by the name a scene gives as `type`."""

from __future__ import annotations

from collections.abc import Mapping

from .arrows import ArrowsLayer
from .base import Layer
from .instances import InstancesLayer
from .isosurface import IsosurfaceLayer
from .lines import LinesLayer
from .points import PointsLayer
from .surface import SurfaceLayer
from .trails import TrailsLayer
from .volume import VolumeLayer

_TYPES: Mapping[str, type[Layer]] = {
    "points": PointsLayer,
    "surface": SurfaceLayer,
    "instances": InstancesLayer,
    "arrows": ArrowsLayer,
    "lines": LinesLayer,
    "trails": TrailsLayer,
    "isosurface": IsosurfaceLayer,
    "volume": VolumeLayer,
}


def types() -> Mapping[str, type[Layer]]:
    """Each layer class by its name in a scene."""
    return _TYPES
