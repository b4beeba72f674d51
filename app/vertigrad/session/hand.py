"""`Hand`: a mouse that touches the models through the picture, and what it does to them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..errors import ParameterError
from ..gpu import Gpu
from ..gpu.readback import Reading
from ..models.touch import Gesture, Touch, Vector
from ..params import Params, number
from ..renderer.camera import OrbitCamera
from ..renderer.picking import Picker, Seen
from ..renderer.view import View
from ..scene.stage import Stage

Pixels = tuple[float, float]


class Brush(Params):
    """How a hand touches. What is near stays as large in the picture, so a nearer view gives a finer touch."""

    radius: float = number(
        0.08,
        min=0.002,
        max=1.0,
        slider_min=0.01,
        slider_max=0.4,
        scale="log",
        doc="brush radius as a fraction of the viewport's height",
    )
    strength: float = number(
        1.0,
        min=1e-3,
        max=1e3,
        slider_min=0.1,
        slider_max=10.0,
        scale="log",
        doc="brush strength relative to the model's own",
    )


class Ray(NamedTuple):
    """From the eye through a place of the picture. `along` times a depth before the eye leads from it to a point."""

    origin: np.ndarray
    along: np.ndarray

    def point(self, depth: float) -> np.ndarray:
        """What lies so deep before the eye, along the middle of the view."""
        return self.origin + depth * self.along


def ray(camera: OrbitCamera, cursor: Pixels, size: tuple[int, int]) -> Ray:
    """Through the pixel `cursor` of a picture of `size`; in world space, float64."""
    width, height = size
    up_share = camera.pixel(1) / 2.0  # half the picture's height: at depth 1, or, without perspective, at any
    x, y = (2.0 * cursor[0] / width - 1.0) * up_share * width / height, (1.0 - 2.0 * cursor[1] / height) * up_share
    right, up, back = camera.rotation().T
    eye = np.asarray(camera.position)
    if camera.orthographic:
        return Ray(eye + x * right + y * up, -back)
    return Ray(eye, x * right + y * up - back)


class Hand:
    """`tool` is the gesture that a drag of the mouse means, None where it moves the camera; `brush` says how large.

    A touch begins with `press` and lies as deep as what is seen there, which is known some frames later; it follows the
    mouse, at that depth, until `release`. A cut goes along the rays of the mouse, whatever lies where: it begins at
    once, and nothing of its way is lost, neither before the depth is known nor between the last step and the release.
    Where a model is touched on its surface, the depth is looked up again wherever the mouse goes. Tool and brush are
    those that the hand `before` had, in another scene.
    """

    def __init__(self, gpu: Gpu, before: Hand | None = None):
        self._gpu = gpu
        self.tool: Gesture | None = before.tool if before else None
        self.brush = before.brush if before else Brush()
        self._gesture: Gesture | None = None  # of the touch that is in progress
        self._cursor: Pixels = (0.0, 0.0)
        self._size = (1, 1)
        self._depth: float | None = None
        self._was: Ray | None = None  # the ray through the mouse at the last step
        self._ending = False  # let go of, but some of the way is still to be gone
        self._picker: Picker | None = None
        self._picking: Reading | None = None
        self._looked: Pixels = (0.0, 0.0)  # where it was asked for

    @property
    def pressed(self) -> bool:
        """Whether it is touching."""
        return self._gesture is not None and not self._ending

    @property
    def pending(self) -> bool:
        """Whether it is still being looked up how deep it reaches."""
        return self._picking is not None

    def take_up(self, tool: Gesture | None, stage: Stage) -> None:
        """Mean this gesture by a drag from now on. Raises `ParameterError` if no model of the scene knows it."""
        if tool is not None:
            _require(tool, stage)
        self.tool = tool

    def press(
        self,
        gesture: Gesture,
        stage: Stage,
        camera: OrbitCamera,
        cursor: Pixels,
        size: tuple[int, int],
        view: View | None = None,
    ) -> None:
        """Touch what is seen at the pixel `cursor` of a picture of `size`.

        Where that is nothing, it is as deep as the camera's target. Raises as `take_up` and `Picker.ask`.
        """
        _require(gesture, stage)
        self._forget()
        if min(size) <= 0:  # panels leave no room for a picture
            return
        self.move(cursor, size)
        self._look(stage, camera, view)
        self._gesture = gesture
        if gesture is Gesture.CUT:
            self._depth, self._was = camera.distance, ray(camera, cursor, size)

    def move(self, cursor: Pixels, size: tuple[int, int]) -> None:
        """The mouse is somewhere else."""
        if min(size) > 0:
            self._cursor, self._size = cursor, size

    def release(self) -> None:
        """The touch is over; a cut when the rest of its way is gone."""
        if self._gesture is Gesture.CUT:
            self._ending = True
        else:
            self._forget()

    def follow(self, stage: Stage, camera: OrbitCamera, view: View | None = None) -> None:
        """Once a frame: let go of what the scene has no longer, and of a depth that will never be known; and look how
        deep a surface lies to which the hand has come.
        """
        if self.tool is None and self._gesture is None:
            return
        known = gestures(stage)
        if self.tool not in known:
            self.tool = None
        if self._gesture is not None and self._gesture not in known:
            self._forget()
        if self._picking is not None and self._picking.dropped:
            self._picking, self._depth = None, self._depth or camera.distance
        if (
            self.pressed
            and self._picking is None
            and self._cursor != self._looked
            and _on_surface(self._gesture, stage)
        ):
            self._look(stage, camera, view)

    def touch(self, camera: OrbitCamera, seconds: float) -> Touch | None:
        """What is done to the models at the end of the next step, or steps, which take `seconds` of model time in all.

        The velocity leads from where the hand was when this was asked last to where it is now.
        """
        if self._gesture is None or self._depth is None:
            return None
        way = ray(camera, self._cursor, self._size)
        point, was = way.point(self._depth), (self._was or way).point(self._depth)
        moved, self._was = point - was, way
        velocity = moved / seconds if seconds > 0.0 else np.zeros(3)
        direction = way.along / np.linalg.norm(way.along)
        radius = self.brush.radius * camera.pixel(1) * (1.0 if camera.orthographic else abs(self._depth))
        strength = self.brush.strength
        origin, point, velocity = (_vector(part) for part in (way.origin, point, velocity))
        gesture = self._gesture
        if self._ending:
            self._forget()
        return Touch(gesture, origin, _vector(direction), point, velocity, radius, strength, camera.orthographic)

    def rest(self) -> None:
        """Time stands still: what the hand moves meanwhile is no velocity."""
        self._was = None
        if self._ending:
            self._forget()

    def _look(self, stage: Stage, camera: OrbitCamera, view: View | None) -> None:
        """Ask how deep lies what is seen under the mouse; over nothing the depth stays, or is that of the target."""
        target = camera.distance

        def take(seen: Seen | None) -> None:
            if self._picking is reading:
                self._picking = None
                there = seen.depth if seen is not None and math.isfinite(seen.depth) else None
                self._depth = there or self._depth or target

        self._picker = self._picker or Picker(self._gpu)
        layers = list(stage.layers.values())
        reading = self._picker.ask(layers, camera, self._size, self._cursor, take, view)
        self._picking, self._looked = reading, self._cursor

    def _forget(self) -> None:
        self._gesture = self._picking = self._depth = self._was = None
        self._ending = False


def gestures(stage: Stage) -> tuple[Gesture, ...]:
    """Those that some model of the scene knows, in the order in which they are offered."""
    known = {gesture for instance in stage.instances.values() for gesture in instance.model.gestures}
    return tuple(gesture for gesture in Gesture if gesture in known)


def _on_surface(gesture: Gesture | None, stage: Stage) -> bool:
    """Whether a model that knows the gesture is touched on its surface."""
    models = (instance.model for instance in stage.instances.values())
    return any(gesture in model.gestures and model.touched_on_surface for model in models)


def _require(gesture: Gesture, stage: Stage) -> None:
    if gesture not in gestures(stage):
        raise ParameterError(f"no model of the scene knows what to do with {gesture}")


def _vector(values: np.ndarray) -> Vector:
    x, y, z = (float(value) for value in values)
    return x, y, z
