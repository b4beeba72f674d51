"""What layers draw, as files for other programs."""

from .files import SUFFIXES, require_layers, write_geometries, write_layers
from .geometry import Geometry
from .layers import geometry, snapshot
from .usd_file import SUFFIXES as USD_SUFFIXES
from .usd_file import UsdFile, require_usd

__all__ = [
    "SUFFIXES",
    "USD_SUFFIXES",
    "Geometry",
    "UsdFile",
    "geometry",
    "require_layers",
    "require_usd",
    "snapshot",
    "write_geometries",
    "write_layers",
]
