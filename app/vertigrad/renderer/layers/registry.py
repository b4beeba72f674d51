"""The layers there are, by the name a scene gives as `type`."""

from __future__ import annotations

from collections.abc import Mapping

from .arrows import ArrowsLayer
from .base import Layer
from .image import ImageLayer
from .instances import InstancesLayer
from .isosurface import IsosurfaceLayer
from .lines import LinesLayer
from .marks import MarksLayer
from .points import PointsLayer
from .splats import SplatsLayer
from .streamlines import StreamlinesLayer
from .surface import SurfaceLayer
from .trails import TrailsLayer
from .vectors import VectorsLayer
from .volume import VolumeLayer

_TYPES: Mapping[str, type[Layer]] = {
    "points": PointsLayer,
    "marks": MarksLayer,
    "surface": SurfaceLayer,
    "instances": InstancesLayer,
    "arrows": ArrowsLayer,
    "lines": LinesLayer,
    "trails": TrailsLayer,
    "streamlines": StreamlinesLayer,
    "vectors": VectorsLayer,
    "splats": SplatsLayer,
    "image": ImageLayer,
    "isosurface": IsosurfaceLayer,
    "volume": VolumeLayer,
}


def types() -> Mapping[str, type[Layer]]:
    """Each layer class by its name in a scene."""
    return _TYPES
