"""`SunCamera`: the camera of the shadow map. Pure arithmetic, no GPU.

The map is square, with an orthographic projection. It is fitted to what the camera shows at the distance of its target,
with a margin: the resolution of shadows follows the zoom, and shadows do not flicker while the camera only turns.
"""

from __future__ import annotations

import math

import numpy as np

from .camera import OrbitCamera

MARGIN = 1.6  # half the map, in half diagonals of what is visible at the distance of the target
DEPTH = 4.0  # depth range of the map toward the sun and away from it, in half widths of the map
TEXELS = 1024  # along each side of the map, by default


class SunCamera:
    """`reach` is half the width of the map in world units; eye space is as `OrbitCamera` has it.

    The map has `texels` along each side.
    """

    def __init__(self, camera: OrbitCamera, sun: np.ndarray, aspect: float, texels: int = TEXELS):
        self.reach = MARGIN * camera.half_height * math.hypot(1.0, max(aspect, 1.0))
        self._texels = texels
        self._axes = _axes(sun)
        middle = self._axes @ np.asarray(camera.target)
        # In whole texels across the map: edges of shadows would crawl when the camera's target moves.
        middle[:2] = np.round(middle[:2] / self.texel) * self.texel
        self._middle = middle

    @property
    def texel(self) -> float:
        """Width of a texel in world units."""
        return 2.0 * self.reach / self._texels

    def view(self) -> np.ndarray:
        """World space to eye space, 4x4: the middle of the map is the origin, the sun shines along -z."""
        matrix = np.eye(4)
        matrix[:3, :3], matrix[:3, 3] = self._axes, -self._middle
        return matrix

    def projection(self) -> np.ndarray:
        """Eye space to clip space, 4x4: depth is 1 nearest to the sun, 0 farthest away."""
        across, along = 1.0 / self.reach, 0.5 / (DEPTH * self.reach)
        matrix = np.diag([across, across, along, 1.0])
        matrix[2, 3] = 0.5
        return matrix

    def to_map(self) -> np.ndarray:
        """World space to the map, 4x4: x to the right and y down it, 0 to 1, and depth."""
        to_texture = np.array([[0.5, 0.0, 0.0, 0.5], [0.0, -0.5, 0.0, 0.5], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
        return to_texture @ self.projection() @ self.view()

    @staticmethod
    def spread(width: float) -> float:
        """Half the width of a penumbra in map widths, for each unit of depth, of a sun `width` degrees wide."""
        return DEPTH * math.tan(math.radians(width) / 2.0)


def _axes(sun: np.ndarray) -> np.ndarray:
    """Three unit vectors as rows, the last of them toward the sun."""
    aside = np.eye(3)[int(np.argmin(np.abs(sun)))]
    right = np.cross(aside, sun)
    right /= np.linalg.norm(right)
    return np.array([right, np.cross(sun, right), sun])
