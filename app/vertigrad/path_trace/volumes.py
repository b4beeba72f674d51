"""Volumes for shaders/common/trace_volume.wgsl: rows of words, and samples and curves in the tables of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..export.colors import constant_color
from ..export.geometry import to_light
from ..params.curve import sampled
from ..renderer import black_body
from ..renderer.colormap import colormap_colors
from ..renderer.layers.box import inset
from ..renderer.layers.styles import ends_among
from ..renderer.layers.volume import CURVE_SAMPLES, VolumeDrawing
from .tables import Tables

ROWS = 10  # of words, for each volume


class VolumeSnapshot(NamedTuple):
    """The style of a volume, its box, its constant color, and samples: "density", perhaps "color", "temperature"."""

    style: Any
    box: tuple[tuple[float, float, float], tuple[float, float, float]]
    color: tuple[float, ...]
    fields: Mapping[str, np.ndarray]

    @staticmethod
    def of(drawing: VolumeDrawing, fields: Mapping[str, np.ndarray]) -> VolumeSnapshot:
        """That of a drawing, with the samples that were read."""
        color = constant_color(drawing.attributes.constants.get("color"))
        return VolumeSnapshot(drawing.style, drawing.box.fit(drawing.style), color, fields)


def words(volume: VolumeSnapshot, tables: Tables) -> np.ndarray:
    """The rows of a volume, u32 (10, 4); its samples are added to the tables."""
    style, (low, high) = volume.style, volume.box
    density = np.ascontiguousarray(volume.fields["density"], np.float32)
    curve = sampled(style.opacity_curve, CURVE_SAMPLES)
    first = tables.add(density)
    words = np.zeros((ROWS, 4), np.uint32)
    numbers = words.view(np.float32)
    numbers[0] = (*low, style.extinction)
    numbers[1] = (*high, inset(style))
    words[2] = (*reversed(density.shape), first)
    numbers[3, :2] = ends_among(style.density_range, density)
    words[3, 2] = tables.add(curve)
    numbers[3, 3] = style.extinction * float(curve.max())
    numbers[6, 3] = style.emissive
    numbers[7, :2] = style.brightness, style.anisotropy
    _add_color(volume, density, first, tables, words)
    _add_temperature(volume, tables, words)
    return words


def _add_color(volume: VolumeSnapshot, density: np.ndarray, first: int, tables: Tables, words: np.ndarray) -> None:
    style, color, numbers = volume.style, volume.fields.get("color"), words.view(np.float32)
    if color is None:
        numbers[4, :3] = to_light(np.array(volume.color[:3]))
        return
    size = color.shape[2::-1]
    if color.ndim == 4:
        words[4, 3] = 3
        words[5] = (*size, tables.add(to_light(np.clip(np.nan_to_num(color), 0.0, 1.0))))
        return
    words[4, 3] = 1
    is_density = color.shape == density.shape and np.array_equal(color, density, equal_nan=True)
    words[5] = (*size, first if is_density else tables.add(color))
    numbers[6, :2] = ends_among(style.range, color)
    words[6, 2] = tables.add(to_light(colormap_colors(style.colormap, style.colormap_flip)[:, :3] / 255.0))


def _add_temperature(volume: VolumeSnapshot, tables: Tables, words: np.ndarray) -> None:
    temperature = volume.fields.get("temperature")
    if temperature is None:
        return
    colors = black_body.table()
    words[7, 2:] = tables.add(colors), len(colors)
    words[8] = (*reversed(temperature.shape), tables.add(temperature))
    words.view(np.float32)[9, :2] = black_body.COLDEST, black_body.HOTTEST
