"""`Contours`: contour lines of a surface as tubes that darken what is behind them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..export import Geometry, geometry
from ..renderer.camera import OrbitCamera
from ..renderer.layers import Layer
from .lines import Lines, in_pixels
from .shapes import Shapes, Surface

FADES = (0.1, 0.35)  # of the distance of lines, as their width: closer ones fade, as in shaders/common/contours.wgsl
BLACK = Surface(unlit=1.0)


class Contours(NamedTuple):
    """Where `values` f32 (n,) of the corners of triangles are multiples of `step`; `width` is in pixels."""

    geometry: Geometry
    values: np.ndarray
    step: float
    strength: float
    width: float

    @staticmethod
    def of(layer: Layer) -> Contours:
        """Those that a layer of triangles draws now."""
        style, found = layer.drawing.style, geometry(layer)
        axis = np.array(layer.drawing.uniform()["height"])
        values = found.positions @ axis if found.scalars is None else found.scalars
        return Contours(found, values.astype(np.float64), style.contours, style.contour_strength, style.contour_width)

    def tubes(self, camera: OrbitCamera, size: tuple[int, int]) -> Shapes:
        """As primitives for an image of `size` = (width, height) pixels: a piece for each line in each triangle."""
        opacities = self.strength * self._faded(camera, size)
        ends, triangle = self._pieces(opacities > 0.0)
        count = 2 * len(ends)
        extras = {"width": np.full(count, self.width), "opacity": np.repeat(opacities[triangle], 2)}
        black = np.zeros((count, 3), np.float32)
        index = np.arange(count, dtype=np.uint32).reshape(-1, 2)
        pieces = Geometry(self.geometry.name, "lines", ends.reshape(-1, 3), black, index, extras=extras)
        shapes = Lines(pieces, BLACK, True).tubes(camera, size)
        shapes.primitives[:, 2, 2] = 0  # of one line: where pieces meet it is not darker
        return shapes

    def _pieces(self, shown: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The ends of the pieces (m, 2, 3) in triangles that are `shown` (n,), and the numbers of these (m,)."""
        index, values = self._triangles()
        order = np.argsort(values, axis=1)
        index, values = np.take_along_axis(index, order, axis=1), np.take_along_axis(values, order, axis=1)
        first, last = np.ceil(values[:, 0] / self.step), np.floor(values[:, 2] / self.step)
        shown = shown & (values[:, 2] > values[:, 0])
        counts = np.where(shown, np.maximum(last - first + 1.0, 0.0), 0.0).astype(np.int64)
        triangle = np.repeat(np.arange(len(index)), counts)
        number = np.arange(len(triangle)) - np.repeat(np.cumsum(counts) - counts, counts)
        level = (first[triangle] + number) * self.step
        low, middle, high = values[triangle].T
        a, b, c = (self.geometry.positions[index[triangle, corner]].astype(np.float64) for corner in range(3))
        lower = (level < middle)[:, None]
        return np.stack(
            [
                _between(a, c, level, low, high),
                np.where(lower, _between(a, b, level, low, middle), _between(b, c, level, middle, high)),
            ],
            axis=1,
        ), triangle

    def _triangles(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and values of the corners (m, 3), values that are not finite as 0: such triangles have no lines."""
        assert self.geometry.index is not None
        index = self.geometry.index.astype(np.int64)
        values = self.values[index]
        return index, np.where(np.isfinite(values).all(axis=1, keepdims=True), values, 0.0)

    def _faded(self, camera: OrbitCamera, size: tuple[int, int]) -> np.ndarray:
        """How visible lines are in each triangle (m,), by how close they are in the image."""
        index, values = self._triangles()
        at = in_pixels(self.geometry.positions, camera, size[1])[index]
        (ax, ay), (bx, by) = (at[:, 1] - at[:, 0]).T, (at[:, 2] - at[:, 0]).T
        a, b = values[:, 1] - values[:, 0], values[:, 2] - values[:, 0]
        area = np.abs(ax * by - ay * bx)
        change = np.abs(a * by - b * ay) + np.abs(b * ax - a * bx)  # along both axes, times the area
        low, high = FADES
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.clip((change / area * self.width / self.step - low) / (high - low), 0.0, 1.0)
        return np.where(np.isfinite(part), 1.0 - part * part * (3.0 - 2.0 * part), 0.0)


def _between(a: np.ndarray, b: np.ndarray, level: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The position between two (m, 3) that have values at which the value is `level`."""
    part = (level - low) / np.where(high > low, high - low, 1.0)
    return a + np.clip(part, 0.0, 1.0)[:, None] * (b - a)
