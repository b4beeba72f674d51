"""What layers draw, as files for other programs."""

from .files import SUFFIXES, require_layers, write_layers
from .geometry import Geometry
from .layers import geometry

__all__ = ["SUFFIXES", "Geometry", "geometry", "require_layers", "write_layers"]
