"""Area lights, and the lights of assets as small spheres, for shaders/common/trace_lamps.wgsl."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..renderer.area_lights import AreaLight
from .tables import Tables

ASSET_LIGHT = 3.0  # the kind of lamp
SMALL = 1e-3  # radius of the sphere of a light, in sizes of its asset
FAR = 1e3  # how far away a directional light is, in the same
EVERYWHERE = (-1.5, -2.0)  # cosines of the cone of what has none
DIRECTIONAL, SPOT = 0, 2  # kinds of lights of assets


def lamps(areas: Sequence[AreaLight], asset_lights: Sequence[np.ndarray], tables: Tables) -> dict[str, Any]:
    """The values of the shader's parameters about lamps, of which `tables` gets a row each."""
    rows = [
        (*one.center, one.kind, *one.right, one.area, *one.above, one.visible, *one.radiance, 0.0, 0.0, 0.0)
        for one in areas
    ]
    table = np.concatenate([np.array(rows, np.float32).reshape(-1, 18), *asset_lights]).astype(np.float32)
    return {"lamps": tables.add(table), "lamp_count": len(table)}


def lamps_of_asset(table: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The lights (n, 16) of an asset in a box, as shaders/common/asset_light.wgsl has them, as rows of lamps (n, 18).

    A sphere of radius r and radiance I / (pi r^2) has the intensity I [cd]; far away it has an illuminance [lx].
    """
    size = max(float(np.linalg.norm(high - low)), 1e-9)
    return np.array([_lamp(one, 0.5 * (low + high), size) for one in table.astype(np.float64)], np.float32).reshape(
        -1, 18
    )


def _lamp(light: np.ndarray, middle: np.ndarray, size: float) -> tuple[float, ...]:
    position, kind, pointing, range_, color = light[:3], light[3], light[4:7], light[7], light[8:11]
    radius, cone = SMALL * size, tuple(light[11:13]) if kind == SPOT else EVERYWHERE
    if kind == DIRECTIONAL:
        position, radius, range_ = middle - FAR * size * pointing, FAR * radius, 0.0
        color = color * (FAR * size) ** 2
    radiance, area = color / (math.pi * radius**2), 4.0 * math.pi * radius**2
    return (*position, ASSET_LIGHT, radius, 0.0, 0.0, area, *pointing, 0.0, *radiance, range_, *cone)
