"""`AreaLight`: a rectangle, disc or sphere that emits; `LightCamera`, of its shadow map. Pure arithmetic, no GPU."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .camera import OrbitCamera
from .quality import Level
from .sun import shadow_texels

MOST_LIGHTS = 8  # mirrored in shaders/common/view.wgsl
KINDS = ("rectangle", "disc", "sphere")
REACH = 4.0  # radius around the camera's target in a shadow map, in half heights of what is visible there
WIDEST = math.radians(70.0)  # half the angle of a shadow map at most
NARROWEST = math.radians(2.0)
NEAR = 0.05  # where it begins, in halves of the light's size
SEARCH = 2.0  # what throws shadows is found from a third of the way to the light on
PACKED = struct.Struct("<24f")  # of `AreaLight` in shaders/common/view.wgsl

Vector = tuple[float, float, float]


class AreaLight(NamedTuple):
    """A light in world space.

    `right` and `above` are half its width and its height, its radius if it is a sphere, which has `kind` 2; a
    rectangle 0 or a disc 1 shines toward their cross product. `radiance` is linear light.
    """

    kind: int
    center: Vector
    right: Vector
    above: Vector
    radiance: Vector
    shadows: bool
    visible: bool

    @property
    def size(self) -> float:
        """The longer half."""
        return max(math.hypot(*self.right), math.hypot(*self.above))

    @property
    def area(self) -> float:
        """Of its surface."""
        width, height = math.hypot(*self.right), math.hypot(*self.above)
        return (4.0, math.pi, 4.0 * math.pi)[self.kind] * width * height


class LightCamera:
    """Looks from the middle of a light at the camera's target; the map has `texels` along each side."""

    def __init__(self, light: AreaLight, camera: OrbitCamera, texels: int):
        center, target = np.array(light.center), np.array(camera.target)
        away = target - center
        distance = float(np.linalg.norm(away))
        self.forward = away / distance if distance > 1e-9 else np.array((0.0, -1.0, 0.0))
        near_target = REACH * camera.half_height
        half = math.asin(near_target / distance) if distance > near_target else WIDEST
        self.tangent = math.tan(min(max(half, NARROWEST), WIDEST))
        self.near = NEAR * max(light.size, 1e-9)
        self.texel = 2.0 * self.tangent / texels  # its width at distance 1
        self.texel_at_target = self.texel * max(distance, self.near)
        hint = np.array(light.above) if light.kind < 2 else np.eye(3)[int(np.argmin(np.abs(self.forward)))]
        right = np.cross(self.forward, hint)
        if np.linalg.norm(right) < 1e-3 * np.linalg.norm(hint):
            right = np.cross(self.forward, np.array(light.right))
        self.right = right / np.linalg.norm(right)
        self.above = np.cross(self.right, self.forward)
        self._center = center

    def view(self) -> np.ndarray:
        """World space to that of the light, 4x4: it looks along -z."""
        matrix = np.eye(4)
        matrix[:3, :3] = self.right, self.above, -self.forward
        matrix[:3, 3] = -matrix[:3, :3] @ self._center
        return matrix

    def projection(self) -> np.ndarray:
        """The space of the light to clip space, 4x4: depth is 1 at `near`, 0 infinitely far away."""
        matrix = np.zeros((4, 4))
        matrix[0, 0] = matrix[1, 1] = 1.0 / self.tangent
        matrix[2, 3], matrix[3, 2] = self.near, -1.0
        return matrix


def light_cameras(
    lights: Sequence[AreaLight], camera: OrbitCamera, resolution: str, height: int, level: Level
) -> list[LightCamera]:
    """Those of the shadow maps of an image of which `height` rows of pixels are drawn, in the order of the lights."""
    texels = shadow_texels(resolution, height, level)
    return [LightCamera(light, camera, texels) for light in lights if light.shadows]


def packed(
    lights: Sequence[AreaLight], camera: OrbitCamera, maps: Sequence[LightCamera], first_map: int, level: Level
) -> tuple[bytes, bytes]:
    """The fields of `View` about all of them, and about each; their shadow maps are those from `first_map` on."""
    to_eye, written = camera.view(), b""
    remaining = iter(enumerate(maps, first_map))
    for light in lights:
        number, map_ = next(remaining) if light.shadows else (-1, None)
        scale = 0.0 if map_ is None else 0.5 / map_.tangent
        axes = np.zeros((2, 3)) if map_ is None else scale * np.array((map_.right, map_.above))
        written += PACKED.pack(
            *(to_eye @ (*light.center, 1.0))[:3],
            float(light.kind),
            *(to_eye[:3, :3] @ light.right),
            float(number),
            *(to_eye[:3, :3] @ light.above),
            light.size * scale,
            *light.radiance,
            0.0 if map_ is None else map_.near,
            *(to_eye[:3, :3] @ axes[0]),
            0.0 if map_ is None else map_.texel,
            *(to_eye[:3, :3] @ axes[1]),
            SEARCH,
        )
    taps = level.sun_taps if maps else 0
    return struct.pack("<2I", len(lights), taps), written + bytes(PACKED.size * (MOST_LIGHTS - len(lights)))
