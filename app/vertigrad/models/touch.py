"""`Touch`: what a hand does to a model in the picture."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

Vector = tuple[float, float, float]


class Gesture(StrEnum):
    """What a touch is meant to do; a model names those that it understands in `Model.gestures`."""

    DRAG = "drag"  # pull what is near the point along with it
    EMIT = "emit"  # let more of the matter come out at the point
    CUT = "cut"  # part what the point passes through
    PAINT = "paint"  # add to a field near the point


class Touch(NamedTuple):
    """A gesture as it is now, in the coordinates of the scene.

    `origin` and `direction`, a unit vector, are the ray from the eye through the mouse. `point` lies on that ray, as
    far away as what was under the mouse when the button was pressed; it moves at `velocity` [units/s of model time]. It
    acts within `radius`, `strength` times as much as by itself.
    """

    gesture: Gesture
    origin: Vector
    direction: Vector
    point: Vector
    velocity: Vector = (0.0, 0.0, 0.0)
    radius: float = 0.1
    strength: float = 1.0
