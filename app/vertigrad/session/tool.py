"""`InteractionTool`: the tool by which the mouse acts on the models in the viewport."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..errors import ParameterError
from ..gpu import Gpu
from ..models.interaction import Gesture, Interaction, Vector
from ..params import Params, number
from ..renderer.camera import OrbitCamera
from ..renderer.picking import PickResult
from ..renderer.view import View
from ..scene.stage import Stage
from .picking import CursorPicker

Pixels = tuple[float, float]


class Brush(Params):
    """Radius and strength of the tool. The radius is relative to the viewport, so a closer view gives finer control."""

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
    """From the eye through a pixel of the viewport: a point is `origin` plus `along` times its depth."""

    origin: np.ndarray
    along: np.ndarray

    def point(self, depth: float) -> np.ndarray:
        """The point at this depth, which is measured from the eye along the middle of the view."""
        return self.origin + depth * self.along


def ray(camera: OrbitCamera, cursor: Pixels, size: tuple[int, int]) -> Ray:
    """Through the pixel `cursor` of a viewport of `size`; in world space, float64."""
    width, height = size
    half_height = camera.pixel(1) / 2.0  # of the viewport: at depth 1, or, without perspective, at any depth
    x = (2.0 * cursor[0] / width - 1.0) * half_height * width / height
    y = (1.0 - 2.0 * cursor[1] / height) * half_height
    right, up, back = camera.rotation().T
    eye = np.asarray(camera.position)
    if camera.orthographic:
        return Ray(eye + x * right + y * up, -back)
    return Ray(eye, x * right + y * up - back)


class InteractionTool:
    """`gesture` is what a drag of the mouse does, None if it moves the camera; `brush` has radius and strength.

    An interaction begins with `press`, at the depth of what is visible there, which is read back some frames later; it
    follows the mouse, at that depth, until `release`. A cut follows the rays of the mouse, at any depth: it begins at
    once, and no part of its stroke is lost, neither before the depth is known nor between the last step and the end.
    Where a model is edited on its surface, the depth is updated as the mouse moves. Gesture and brush are taken
    over from the tool `before`, of another scene.
    """

    def __init__(self, gpu: Gpu, stage: Stage, camera: OrbitCamera, view: View, before: InteractionTool | None = None):
        self._stage, self._camera = stage, camera
        self._picker = CursorPicker(gpu, stage, camera, view)
        self.gesture: Gesture | None = before.gesture if before else None
        self.brush = before.brush if before else Brush()
        self._active: Gesture | None = None  # of the interaction in progress
        self._cursor: Pixels = (0.0, 0.0)
        self._size = (1, 1)
        self._depth: float | None = None
        self._previous_ray: Ray | None = None  # through the mouse at the last step
        self._ending = False  # released, with part of the stroke not applied yet
        self._picked_at: Pixels = (0.0, 0.0)  # where the depth was requested

    @property
    def pressed(self) -> bool:
        """Whether an interaction is in progress."""
        return self._active is not None and not self._ending

    @property
    def pending(self) -> bool:
        """Whether its depth is being read back."""
        return self._picker.pending

    def select(self, tool: Gesture | None) -> None:
        """Select a gesture; None for the camera. Raises `ParameterError` if no model of the scene supports it."""
        if tool is not None:
            self._require(tool)
        self.gesture = tool

    def press(self, gesture: Gesture, cursor: Pixels, size: tuple[int, int]) -> None:
        """Begin an interaction with what is visible at the pixel `cursor` of a viewport of `size`.

        Over the background, its depth is that of the camera's target. Raises as `select` and `CursorPicker.request`.
        """
        self._require(gesture)
        self._clear()
        if min(size) <= 0:  # panels leave no room for the viewport
            return
        self.move(cursor, size)
        self._pick_depth()
        self._active = gesture
        if gesture is Gesture.CUT:
            self._depth, self._previous_ray = self._camera.distance, ray(self._camera, cursor, size)

    def move(self, cursor: Pixels, size: tuple[int, int]) -> None:
        """Move the cursor."""
        if min(size) > 0:
            self._cursor, self._size = cursor, size

    def release(self) -> None:
        """End the interaction; a cut ends once the rest of its stroke was applied."""
        if self._active is Gesture.CUT:
            self._ending = True
        else:
            self._clear()

    def update(self) -> None:
        """Call once per frame: drop gestures that the scene no longer supports, and a depth whose readback was dropped;
        update the depth of a surface after the cursor moved.
        """
        if self.gesture is None and self._active is None:
            return
        known = gestures(self._stage)
        if self.gesture not in known:
            self.gesture = None
        if self._active is not None and self._active not in known:
            self._clear()
        if self._picker.dropped():
            self._depth = self._depth or self._camera.distance
        if (
            self.pressed
            and not self.pending
            and self._cursor != self._picked_at
            and _on_surface(self._active, self._stage)
        ):
            self._pick_depth()

    def interaction(self, seconds: float) -> Interaction | None:
        """The interaction at the end of the next step, or steps, of `seconds` of simulated time in all.

        Its velocity leads from where the tool was at the last call to where it is now.
        """
        if self._active is None or self._depth is None:
            return None
        camera = self._camera
        cursor_ray = ray(camera, self._cursor, self._size)
        point, previous = cursor_ray.point(self._depth), (self._previous_ray or cursor_ray).point(self._depth)
        moved, self._previous_ray = point - previous, cursor_ray
        velocity = moved / seconds if seconds > 0.0 else np.zeros(3)
        direction = cursor_ray.along / np.linalg.norm(cursor_ray.along)
        radius = self.brush.radius * camera.pixel(1) * (1.0 if camera.orthographic else abs(self._depth))
        strength = self.brush.strength
        origin, point, velocity = (_vector(part) for part in (cursor_ray.origin, point, velocity))
        gesture = self._active
        if self._ending:
            self._clear()
        return Interaction(gesture, origin, _vector(direction), point, velocity, radius, strength, camera.orthographic)

    def pause(self) -> None:
        """The simulation is paused: moving the tool gives no velocity."""
        self._previous_ray = None
        if self._ending:
            self._clear()

    def _pick_depth(self) -> None:
        """Request the depth under the cursor; over the background it stays, or is that of the target."""
        target = self._camera.distance

        def take(result: PickResult | None) -> None:
            depth = result.depth if result is not None and math.isfinite(result.depth) else None
            self._depth = depth or self._depth or target

        self._picker.request(self._cursor, self._size, take)
        self._picked_at = self._cursor

    def _require(self, gesture: Gesture) -> None:
        if gesture not in gestures(self._stage):
            raise ParameterError(f"no model of the scene supports {gesture}")

    def _clear(self) -> None:
        self._picker.cancel()
        self._active = self._depth = self._previous_ray = None
        self._ending = False


def gestures(stage: Stage) -> tuple[Gesture, ...]:
    """The gestures that some model of the scene supports, in the order of the tools."""
    known = {gesture for instance in stage.instances.values() for gesture in instance.model.gestures}
    return tuple(gesture for gesture in Gesture if gesture in known)


def _on_surface(gesture: Gesture | None, stage: Stage) -> bool:
    models = (instance.model for instance in stage.instances.values())
    return any(gesture in model.gestures and model.interacts_on_surface for model in models)


def _vector(values: np.ndarray) -> Vector:
    x, y, z = (float(value) for value in values)
    return x, y, z
