"""`Interaction`: what a tool does to a model: dragging, emitting, cutting, painting."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import NamedTuple

Vector = tuple[float, float, float]
FAR = 1e6  # units along a ray, beyond which interactions do not reach
PULL = 40.0  # 1/s, at which what flows takes on the velocity of the drag tool at strength 1


class Gesture(StrEnum):
    """The kind of an interaction; a model declares those that it supports in `Model.gestures`."""

    DRAG = "drag"  # pull what is near the point along with it
    EMIT = "emit"  # let more of the matter come out at the point
    CUT = "cut"  # cut what is visible along the path of the mouse, at any depth
    PAINT = "paint"  # add to a field near the point


class Interaction(NamedTuple):
    """A gesture as it is now, in the coordinates of the scene.

    `origin` and `direction`, a unit vector, are the ray from the eye through the mouse. `point` is on that ray, as
    far away as what was under the mouse when the button was pressed; it moves at `velocity` [units/s of model time],
    and came to where it is in the step. It acts within `radius`, `strength` times as much as by itself. `parallel` is
    whether all rays have one direction, as without perspective; else they meet in `origin`.
    """

    gesture: Gesture
    origin: Vector
    direction: Vector
    point: Vector
    velocity: Vector = (0.0, 0.0, 0.0)
    radius: float = 0.1
    strength: float = 1.0
    parallel: bool = False

    def later(self, seconds: float) -> Interaction:
        """The interaction after `seconds` of simulated time, or before if negative."""
        moved = tuple(seconds * part for part in self.velocity)
        if not any(moved):
            return self
        point = _sum(self.point, moved)
        if self.parallel:
            return self._replace(origin=_sum(self.origin, moved), point=point)
        vector = tuple(one - other for one, other in zip(point, self.origin, strict=True))
        x, y, z = (part / math.hypot(*vector) for part in vector)
        return self._replace(direction=(x, y, z), point=point)

    def at_height(self, y: float) -> Vector:
        """Where the ray meets the plane at this height; `point` if it does not."""
        rise = self.direction[1]
        far = (y - self.origin[1]) / rise if rise else math.inf
        if not 0.0 < far < FAR:
            return self.point
        return _sum(self.origin, tuple(far * part for part in self.direction))

    def inside(self, low: Vector, high: Vector) -> Vector:
        """`point` if it is in this box; else the middle of what the ray has in it; `point` if the ray misses it."""
        if all(a <= x <= b for a, x, b in zip(low, self.point, high, strict=True)):
            return self.point
        enters, leaves = 0.0, FAR
        for start, along, a, b in zip(self.origin, self.direction, low, high, strict=True):
            if along:
                first, last = sorted(((a - start) / along, (b - start) / along))
                enters, leaves = max(enters, first), min(leaves, last)
            elif not a <= start <= b:
                return self.point
        if enters > leaves:
            return self.point
        return _sum(self.origin, tuple(0.5 * (enters + leaves) * part for part in self.direction))


NO_INTERACTION = Interaction(Gesture.DRAG, (0.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 0.0, 0.0), radius=1.0, strength=0.0)


def _sum(one: Vector, other: tuple[float, ...]) -> Vector:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]
