"""The colors of what a layer draws, on the host: constants, rows, and scalars through a colormap."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..params import parse_color
from ..renderer.colormap import colormap_colors
from ..renderer.layers.styles import ends_among
from .geometry import repeated, to_light, to_srgb

BLACK = (0.0, 0.0, 0.0)


def constant_color(value: Any) -> tuple[float, ...]:
    """A constant of a scene, "#rrggbb" or 3 or 4 numbers, as sRGB from 0 to 1."""
    if isinstance(value, str):
        return parse_color(value)
    return tuple(float(part) for part in value) if isinstance(value, list | tuple) else BLACK


def row_colors(values: np.ndarray | None, constant: Any, style: Any, count: int) -> dict[str, np.ndarray]:
    """`colors`, and `scalars` if they are scalars, of a `Geometry` with `count` rows.

    `values` f32 (count, 1), (count, 3) or (count, 4) are those of a tensor; without them all have the constant.
    """
    if values is None:
        return {"colors": repeated(constant_color(constant), count)}
    if values.shape[1] > 1:
        return {"colors": values}
    scalars = np.ascontiguousarray(values[:, 0])
    return {"colors": colormapped(scalars, scalars, style), "scalars": scalars}


def colormapped(scalars: np.ndarray, among: np.ndarray, style: Any) -> np.ndarray:
    """The colors of scalars as the style has them, f32 (n, 3), sRGB; a range found on the GPU is that of `among`.

    As the shaders: linear between the colors of the map, as light.
    """
    low, high = ends_among(style.range, among)
    span, values = high - low, scalars.astype(np.float64)
    fraction = np.nan_to_num((values - low) / span) if abs(span) > 1e-30 else np.full(len(values), 0.5)
    light = to_light(colormap_colors(style.colormap, style.colormap_flip)[:, :3] / 255.0)
    at = np.clip(fraction, 0.0, 1.0) * (len(light) - 1)
    found = np.stack([np.interp(at, np.arange(len(light)), light[:, channel]) for channel in range(3)], axis=1)
    return to_srgb(found).astype(np.float32)
