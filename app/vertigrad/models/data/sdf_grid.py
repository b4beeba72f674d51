"""A grid of signed distances on a cube around the origin, as simulations take it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...params import integer, number
from ..base import OutputSpec


def resolution(most: int, slider_max: int | None = None, purpose: str = "") -> Any:
    """The declaration of the parameter `sdf_resolution`."""
    doc = f"samples along each axis of the signed distance grid{purpose}; 0: no grid"
    return integer(0, min=0, max=most, slider_max=slider_max, rebuild=True, doc=doc)


def extent(default: float, min: float, max: float, slider_max: float | None = None) -> Any:
    """The declaration of the parameter `sdf_extent`."""
    doc = "half the edge of the cube of the signed distance grid"
    return number(default, min=min, max=max, slider_max=slider_max, rebuild=True, doc=doc)


def samples_of(resolution: int) -> int:
    """Samples along each axis for a parameter `sdf_resolution`: none, or enough to have a gradient."""
    return max(resolution, 2) if resolution else 0


def distance_specs(side: int) -> dict[str, OutputSpec]:
    """The output `distance`, if there are samples."""
    spec = OutputSpec((side,) * 3, "f32", "signed distances on a cube, z first; negative inside")
    return {"distance": spec} if side else {}


def lattice(side: int, reach: float) -> np.ndarray:
    """The positions of the samples, float64 (side³, 3), x fastest."""
    z, y, x = np.meshgrid(*3 * [np.linspace(-reach, reach, side)], indexing="ij")
    return np.stack([x, y, z], axis=-1).reshape(-1, 3)
