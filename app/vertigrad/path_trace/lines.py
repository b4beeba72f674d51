"""`Lines`: lines and trails as tubes of pieces, for shaders/common/trace_tube.wgsl."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..export import Geometry
from ..export.layers import line_geometry
from ..renderer.camera import OrbitCamera
from ..renderer.layers import Layer
from ..renderer.layers.lines import LinesDrawing
from . import packing
from .shapes import CLEAR, FLAT, OPAQUE, TUBE, Shapes, Surface


class Lines(NamedTuple):
    """Segments with extras "width" and "opacity"; widths are in pixels, or in world units."""

    geometry: Geometry
    material: Surface
    in_pixels: bool
    brightness: float = 1.0

    @staticmethod
    def of(layer: Layer) -> Lines:
        """What a layer of lines or trails draws now: lines of pixels shine, tubes are lit."""
        style = layer.drawing.style
        if isinstance(layer.drawing, LinesDrawing) and style.tube:
            return Lines(line_geometry(layer), Surface(0.0, style.roughness), False)
        return Lines(line_geometry(layer), Surface(unlit=1.0), True, style.brightness)

    def tubes(self, camera: OrbitCamera, size: tuple[int, int]) -> Shapes:
        """As primitives for an image of `size` = (width, height) pixels."""
        geometry = self.geometry
        assert geometry.index is not None
        radius = 0.5 * np.maximum(geometry.extras["width"].astype(np.float64), 0.0)  # as they are drawn
        if self.in_pixels:
            radius = radius * _pixels(geometry.positions, camera, size[1])
        index = geometry.index.astype(np.int64)
        index = index[(radius[index] > 0.0).any(axis=1)]
        ends, radii = geometry.positions.astype(np.float32)[index], radius.astype(np.float32)[index]
        colors = _colors(geometry, self.brightness)
        words = np.zeros((len(index), 3, 4), np.uint32)
        words[:, :2, :3] = np.ascontiguousarray(ends).view(np.uint32)
        clear = (colors[index, 3] < OPAQUE).any(axis=1)
        shadowless = FLAT if self.in_pixels else np.uint32(0)
        words[:, 0, 3] = TUBE | shadowless | np.where(clear, CLEAR, np.uint32(0))
        words[:, 1, 3] = 2 * np.arange(len(index), dtype=np.uint32)
        words[:, 2, :2] = np.ascontiguousarray(radii).view(np.uint32)
        words[1:, 2, 2] = np.cumsum(index[1:, 0] != index[:-1, 1])  # the number of the line in its layer
        corners = packing.corners(colors)[index].reshape(-1, packing.WORDS)
        low, high = (ends - radii[..., None]).min(axis=1), (ends + radii[..., None]).max(axis=1)
        return Shapes(words, corners, low, high, [self.material])


def in_pixels(positions: np.ndarray, camera: OrbitCamera, height: int) -> np.ndarray:
    """Where positions (n, 3) are in an image, counted in pixels from its middle, right and up (n, 2).

    Not finite for those behind the camera.
    """
    across = (positions - np.array(camera.position)) @ camera.rotation()[:, :2]
    with np.errstate(divide="ignore", invalid="ignore"):
        return across / _pixels(positions, camera, height)[:, None]


def _pixels(positions: np.ndarray, camera: OrbitCamera, height: int) -> np.ndarray:
    """The width of a pixel at each position (n, 3), in world units; 0 behind the camera."""
    pixel = camera.pixel(height)
    if camera.orthographic:
        return np.full(len(positions), pixel)
    back = camera.rotation()[:, 2]
    return pixel * np.maximum((np.array(camera.position) - positions) @ back, 0.0)


def _colors(geometry: Geometry, brightness: float) -> np.ndarray:
    """Linear light and alpha of each row, f32 (n, 4)."""
    colors, opacity = geometry.linear_rgba(), geometry.extras["opacity"]
    return colors * np.concatenate([np.full((len(colors), 3), brightness), opacity[:, None]], axis=1)
