"""`OrbitCamera`: an eye that circles a target. Pure arithmetic, no GPU.

World space is right-handed. Matrices are 4x4, float64, for column vectors: `clip = projection @ view @ position`.
Eye space has the camera at its origin, looking along -z, with y up on the screen. Depth is reversed with the far plane
at infinity: 1 at the near plane, 0 infinitely far away, so float32 depth is accurate at every distance. An
orthographic camera shows objects at the distance of the target in the same size; its depth is linear, reversed too,
and reaches as far behind the eye as in front of it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

Vec3 = tuple[float, float, float]
Axis = Literal["y", "z"]

MAX_PITCH = math.radians(89.99)  # at 90 degrees the horizon has no direction, and a position does not determine the yaw
NEAR_FRACTION = 1e-3  # distance of the near plane, as a fraction of the distance to the target
MIN_DISTANCE, MAX_DISTANCE = 1e-6, 1e12
MARGIN = 1.05  # around what `fit_view` shows
REACH = 512.0  # depth range of an orthographic camera, before and behind its target, in distances to the target


class Lens(NamedTuple):
    """Where the eye is on a lens: `right` and `up` of its middle, in world units.

    What is at the distance `focus` is seen where it is seen from the middle. The whole image is moved by `shift_x` and
    `shift_y`, in half heights of the image.
    """

    right: float = 0.0
    up: float = 0.0
    focus: float = 1.0
    shift_x: float = 0.0
    shift_y: float = 0.0


PINHOLE = Lens()


@dataclass
class OrbitCamera:
    """Looks at `target` from `distance` away; `yaw` and `pitch` are in radians, `fov` (vertical) in degrees.

    With yaw and pitch zero the eye is on the positive z axis of the target if `up` is "y", on negative y if it is "z".
    """

    target: Vec3 = (0.0, 0.0, 0.0)
    distance: float = 5.0
    yaw: float = 0.0
    pitch: float = 0.0
    fov: float = 45.0
    up: Axis = "y"
    orthographic: bool = False
    lens: Lens = PINHOLE  # of one sample of an image: see lens.py

    def __post_init__(self) -> None:
        if not 1.0 <= self.fov <= 170.0:
            raise ValueError(f"field of view {self.fov} degrees; it must be from 1 to 170")
        self.distance = _clamp(self.distance, MIN_DISTANCE, MAX_DISTANCE)
        self.pitch = _clamp(self.pitch, -MAX_PITCH, MAX_PITCH)

    @classmethod
    def from_position(
        cls,
        position: Sequence[float],
        target: Sequence[float],
        fov: float = 45.0,
        up: Axis = "y",
        orthographic: bool = False,
    ) -> OrbitCamera:
        """The camera at `position` that looks at `target`. Raises `ValueError` if they are the same point."""
        offset = np.asarray(position, float) - np.asarray(target, float)
        distance = float(np.linalg.norm(offset))
        if not distance > 0.0:
            raise ValueError("the camera is at its target; move one of them")
        yaw, pitch = _angles(offset / distance, up)
        return cls(_vec3(target), distance, yaw, pitch, fov, up, orthographic)

    @property
    def position(self) -> Vec3:
        """The position of the eye, in world space."""
        return _vec3(np.asarray(self.target) + self.distance * self.rotation()[:, 2])

    @property
    def near(self) -> float:
        """Distance of the near plane; of an orthographic camera it is behind the eye, and this is below zero."""
        return self.distance * (1.0 - REACH if self.orthographic else NEAR_FRACTION)

    @property
    def half_height(self) -> float:
        """Half the visible height at the distance of the target, in world units."""
        return self.distance * self._half_height()

    @property
    def up_direction(self) -> np.ndarray:
        """The upward axis, in world space."""
        return np.array((0.0, 1.0, 0.0) if self.up == "y" else (0.0, 0.0, 1.0))

    def rotation(self) -> np.ndarray:
        """Turns directions from eye space into world space, 3x3: its columns are right, up and backward."""
        sin_yaw, cos_yaw = math.sin(self.yaw), math.cos(self.yaw)
        sin_pitch, cos_pitch = math.sin(self.pitch), math.cos(self.pitch)
        x = (cos_yaw, -sin_yaw * sin_pitch, sin_yaw * cos_pitch)
        y = (0.0, cos_pitch, sin_pitch)
        z = (-sin_yaw, -cos_yaw * sin_pitch, cos_yaw * cos_pitch)
        if self.up == "y":
            return np.array((x, y, z))
        return np.array((x, tuple(-component for component in z), y))

    def view(self) -> np.ndarray:
        """World space to eye space."""
        rotation = self.rotation()
        matrix = np.eye(4)
        matrix[:3, :3] = rotation.T
        matrix[:3, 3] = -rotation.T @ np.asarray(self.target)
        matrix[:3, 3] -= self.lens.right, self.lens.up, self.distance
        return matrix

    def projection(self, aspect: float) -> np.ndarray:
        """Eye space to clip space, for an image `aspect` times as wide as it is high."""
        if self.orthographic:
            scale, reach = 1.0 / self.half_height, REACH * self.distance
            depth, w = (0.5 / reach, 0.5 * (self.distance + reach) / reach), (0.0, 1.0)
        else:
            scale, depth, w = 1.0 / self._half_height(), (0.0, self.near), (-1.0, 0.0)
        matrix = np.array(
            [
                [scale / aspect, 0.0, 0.0, 0.0],
                [0.0, scale, 0.0, 0.0],
                [0.0, 0.0, *depth],
                [0.0, 0.0, *w],
            ]
        )
        lens = self.lens
        if self.orthographic:
            matrix[:2, 3] += lens.shift_x / aspect, lens.shift_y
        else:
            matrix[0, 2] -= scale / aspect * lens.right / lens.focus + lens.shift_x / aspect
            matrix[1, 2] -= scale * lens.up / lens.focus + lens.shift_y
        return matrix

    def clip(self, aspect: float) -> np.ndarray:
        """World space to clip space, for an image `aspect` times as wide as it is high."""
        return self.projection(aspect) @ self.view()

    def distances(self, depth: np.ndarray) -> np.ndarray:
        """Distances from the eye along the direction of view, f32, of depths of clip space; infinite for depth 0."""
        with np.errstate(divide="ignore"):
            if self.orthographic:
                reach = REACH * self.distance
                found = np.where(depth > 0.0, self.distance + reach - 2.0 * reach * depth.astype(float), np.inf)
            else:
                found = self.near / depth.astype(float)
        return found.astype(np.float32)

    def pixel(self, height: int) -> float:
        """Width of one pixel in an image of `height` pixels, in world units; with perspective that at distance 1."""
        return 2.0 * (self.half_height if self.orthographic else self._half_height()) / height

    def orbit(self, dx: float, dy: float) -> None:
        """Orbit around the target: the eye moves `dx` radians to its right and `dy` radians up."""
        self.yaw = math.remainder(self.yaw + dx, math.tau)
        self.pitch = _clamp(self.pitch + dy, -MAX_PITCH, MAX_PITCH)

    def pan(self, dx: float, dy: float) -> None:
        """Move eye and target `dx` to the right and `dy` up, in heights of the image at the target."""
        self._shift(dx, dy, 2.0 * self.half_height)

    def turn(self, dx: float, dy: float) -> None:
        """Turn the view `dx` radians to the right and `dy` up; the eye does not move."""
        eye = np.asarray(self.position)
        self.orbit(-dx, -dy)
        self.target = _vec3(eye - self.distance * self.rotation()[:, 2])

    def fly(self, right: float, rise: float, forward: float) -> None:
        """Move eye and target, in world units: to the right, along the upward axis, and in the direction of view."""
        across, _, back = self.rotation().T
        shift = right * across + rise * self.up_direction - forward * back
        self.target = _vec3(np.asarray(self.target) + shift)

    def face(self, direction: Sequence[float]) -> None:
        """Move the eye into this direction from the target, in world space. Raises `ValueError` if it has no length."""
        length = float(np.linalg.norm(direction))
        if not length > 0.0:
            raise ValueError("a direction of no length")
        yaw, pitch = _angles(np.asarray(direction, float) / length, self.up)
        self.yaw, self.pitch = yaw, _clamp(pitch, -MAX_PITCH, MAX_PITCH)

    def zoom(self, factor: float, cursor: tuple[float, float] = (0.0, 0.0), aspect: float = 1.0) -> None:
        """Divide the distance by `factor`; the point under the cursor at the target's distance stays under it.

        `cursor` is in clip coordinates: (-1, -1) is the lower left corner of the image, (1, 1) the upper right.
        Raises `ValueError` unless the factor is above zero.
        """
        if not factor > 0.0:
            raise ValueError(f"zoom factor {factor}; it must be above zero")
        distance = _clamp(self.distance / factor, MIN_DISTANCE, MAX_DISTANCE)
        self._shift(cursor[0] * aspect, cursor[1], (self.distance - distance) * self._half_height())
        self.distance = distance

    def fit(self, low: Sequence[float], high: Sequence[float], aspect: float = 1.0) -> None:
        """Move so that all of the box from `low` to `high` is in the image, with its center as the target.

        For a box of size zero, the distance does not change.
        """
        corners = np.array([low, high], float)
        radius = float(np.linalg.norm(corners[1] - corners[0])) / 2.0
        half = self._half_height() * min(aspect, 1.0)
        self.target = _vec3(corners.mean(axis=0))
        if radius > 0.0:
            half_extent = half if self.orthographic else math.sin(math.atan(half))
            self.distance = _clamp(radius / half_extent, MIN_DISTANCE, MAX_DISTANCE)

    def fit_view(self, low: Sequence[float], high: Sequence[float], aspect: float = 1.0) -> None:
        """As `fit`, but as near as this direction of view allows: from others the box may be larger than the image."""
        corners = np.array(list(itertools.product(*zip(low, high, strict=True))), float)
        self.target = _vec3(corners.mean(axis=0))
        across, above, toward = ((corners - self.target) @ self.rotation()).T
        half = self._half_height()
        needed = np.maximum(np.abs(across) / (half * aspect), np.abs(above) / half)
        distance = float((needed if self.orthographic else needed + toward).max())
        if distance > 0.0:
            self.distance = _clamp(MARGIN * distance, MIN_DISTANCE, MAX_DISTANCE)

    def take(self, other: OrbitCamera) -> None:
        """Copy the values of `other`."""
        vars(self).update(vars(other))

    def _half_height(self) -> float:
        """Half the image's height at distance 1."""
        return math.tan(math.radians(self.fov) / 2.0)

    def _shift(self, dx: float, dy: float, length: float) -> None:
        right, above, _ = self.rotation().T
        self.target = _vec3(np.asarray(self.target) + length * (dx * right + dy * above))


def _angles(direction: np.ndarray, up: Axis) -> tuple[float, float]:
    """Yaw and pitch of a camera in this direction, of length 1, from its target."""
    x, y, z = _vec3(direction)
    right, above, back = (x, y, z) if up == "y" else (x, z, -y)
    return math.atan2(right, back), math.asin(_clamp(above, -1.0, 1.0))


def _clamp(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


def _vec3(values: Sequence[float] | np.ndarray) -> Vec3:
    x, y, z = (float(value) for value in values)
    return x, y, z
