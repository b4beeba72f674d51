"""`SunCamera`, of the shadow maps, and `OpacityCamera`, of the map of optical depths. Pure arithmetic, no GPU.

The maps are squares around the camera's target, each about three times as wide as the one before, with orthographic
projections along the same axes. A position is looked up in the finest map that contains it. Their widths follow the
zoom only, and their middles move by whole texels: shadows do not flicker while the camera turns or moves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .camera import OrbitCamera
from .quality import Level

REACHES = (1.4, 4.0, 12.0)  # half the widths of the maps, in half heights of what is visible at the target's distance
DEPTH = 4.0  # depth range of all maps toward the sun and away from it, in half widths of the largest
SEARCH_HEIGHT = 7.0  # of casters whose whole penumbra is found, above what they shade, in the same half heights
SEARCH_LIMIT = 0.5  # and the radius of the search, at most
PLANES = 8  # of a map of optical depths; mirrored in shaders/common/shadows.wgsl and draw/volume.wgsl
OPACITY_REACH = 6.0  # half its width at most, in the same half heights
UNKNOWN_REACH = 2.5  # and around the camera's target, for a layer whose box is not known
RESOLUTIONS = ("auto", "512", "1024", "2048", "4096")

Box = tuple[Sequence[float], Sequence[float]]  # low and high corner


def shadow_texels(resolution: str, height: int, level: Level) -> int:
    """Texels along each side of a shadow map: one of `RESOLUTIONS`.

    "auto" is the next power of two for an image of which `height` rows of pixels are drawn: a texel of the finest map
    is about as large as a pixel.
    """
    if resolution != "auto":
        return int(resolution)
    return 1 << min(max(math.ceil(math.log2(height * level.sun_texels)), 9), 12)


def reaches_of(level: Level) -> tuple[float, ...]:
    """Of the maps that are drawn at this level."""
    return REACHES[-level.sun_maps :]


class SunCamera:
    """Sun space has the middle of the largest map at its origin, with the sun along z, in world units.

    Each map has `texels` along each side. `reaches` are a part of `REACHES`, from the finest map to the largest.
    """

    def __init__(self, camera: OrbitCamera, sun: np.ndarray, texels: int, reaches: Sequence[float] = REACHES):
        self.reaches = tuple(reach * camera.half_height for reach in reaches)
        self._half_height = camera.half_height
        self._texels = texels
        self._axes = sun_axes(sun)
        target = self._axes @ np.asarray(camera.target)
        # In whole texels across each map: edges of shadows would crawl when the camera's target moves.
        middles = [np.round(target[:2] / texel) * texel for texel in map(self.texel, range(len(reaches)))]
        self._middle = np.append(middles[-1], target[2])
        self._shifts = [middle - middles[-1] for middle in middles]

    @property
    def width(self) -> float:
        """Width of the largest map in world units."""
        return 2.0 * self.reaches[-1]

    def texel(self, map_: int) -> float:
        """Width of a texel of a map in world units."""
        return 2.0 * self.reaches[map_] / self._texels

    def view(self) -> np.ndarray:
        """World space to sun space, 4x4."""
        matrix = np.eye(4)
        matrix[:3, :3], matrix[:3, 3] = self._axes, -self._middle
        return matrix

    def projection(self, map_: int) -> np.ndarray:
        """Sun space to the clip space of a map, 4x4: depth is 1 nearest to the sun, 0 farthest away."""
        across = 1.0 / self.reaches[map_]
        matrix = np.diag([across, across, 0.5 / (DEPTH * self.reaches[-1]), 1.0])
        matrix[:2, 3] = -across * self._shifts[map_]
        matrix[2, 3] = 0.5
        return matrix

    def to_largest(self) -> np.ndarray:
        """World space to the largest map, 4x4: x to the right and y down it, 0 to 1, and depth."""
        to_texture = np.array([[0.5, 0.0, 0.0, 0.5], [0.0, -0.5, 0.0, 0.5], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
        return to_texture @ self.projection(len(self.reaches) - 1) @ self.view()

    def placement(self, map_: int) -> tuple[float, float, float]:
        """Factor, and what is added to x and to y, from positions in the largest map to those in a map."""
        scale = self.reaches[-1] / self.reaches[map_]
        x, y = self._shifts[map_] / (2.0 * self.reaches[map_])
        return scale, 0.5 * (1.0 - scale) - float(x), 0.5 * (1.0 - scale) + float(y)

    @staticmethod
    def spread(width: float) -> float:
        """Radius of a penumbra, in widths of the largest map for each unit of depth, of a sun `width` degrees wide."""
        return DEPTH * math.tan(math.radians(width) / 2.0)

    def search(self, width: float) -> float:
        """Radius in which what occludes the sun is looked for, in widths of the largest map."""
        reach = min(SEARCH_HEIGHT * math.tan(math.radians(width) / 2.0), SEARCH_LIMIT)
        return reach * self._half_height / self.width


class OpacityCamera:
    """Looks along the sun's light at `boxes`, low and high corners in world space, with an orthographic projection.

    A box that is None is around the camera's target.

    The map is a square of `texels`; its origin is in the middle of it, with the sun along z, in world units.
    """

    def __init__(self, camera: OrbitCamera, sun: np.ndarray, boxes: Sequence[Box | None], texels: int):
        self._axes = sun_axes(sun)
        target, reach = self._axes @ np.asarray(camera.target), OPACITY_REACH * camera.half_height
        around = target + UNKNOWN_REACH * camera.half_height * np.array([[-1.0], [1.0]])
        within = np.concatenate([self._corners(box) if box else around for box in boxes])
        low = np.clip(within.min(axis=0), target - reach, target + reach)
        high = np.clip(within.max(axis=0), target - reach, target + reach)
        self._middle = 0.5 * (low + high)
        smallest = 1e-6 * reach
        self._half = max(float((high - low)[:2].max()) / 2.0, smallest)
        self._half_depth = max(float((high - low)[2]) / 2.0, smallest)
        self.texel = 2.0 * self._half / texels  # its width in world units

    def _corners(self, box: Box) -> np.ndarray:
        return np.stack(np.meshgrid(*zip(*box, strict=True)), axis=-1).reshape(-1, 3) @ self._axes.T

    def view(self) -> np.ndarray:
        """World space to that of the sun, 4x4."""
        matrix = np.eye(4)
        matrix[:3, :3], matrix[:3, 3] = self._axes, -self._middle
        return matrix

    def projection(self) -> np.ndarray:
        """The space of the sun to clip space, 4x4: depth is 1 nearest to the sun, 0 farthest away."""
        matrix = np.diag([1.0 / self._half, 1.0 / self._half, 0.5 / self._half_depth, 1.0])
        matrix[2, 3] = 0.5
        return matrix

    def to_map(self) -> np.ndarray:
        """World space to the map, 4x4: x to the right and y down it, 0 to 1, and z in planes from the sun."""
        to_texture = np.diag([0.5, -0.5, -float(PLANES), 1.0])
        to_texture[:3, 3] = 0.5, 0.5, PLANES
        return to_texture @ self.projection() @ self.view()


def sun_axes(sun: np.ndarray) -> np.ndarray:
    """Three unit vectors as rows, the last of them toward the sun."""
    aside = np.eye(3)[int(np.argmin(np.abs(sun)))]
    right = np.cross(aside, sun)
    right /= np.linalg.norm(right)
    return np.array([right, np.cross(sun, right), sun])
