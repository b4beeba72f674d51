"""Files of Gaussian splats: what is read of each format, and written."""

from . import antimatter, compressed_ply, reference_ply, spz
from .values import HARMONICS, Splats, no_harmonics

__all__ = ["HARMONICS", "Splats", "antimatter", "compressed_ply", "no_harmonics", "reference_ply", "spz"]
