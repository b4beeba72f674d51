"""`Cameras`: the camera that draws, how it moves by itself, and the views that can be gone back to."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..errors import GpuError, InputError, ParameterError
from ..params import unknown
from ..renderer.bounds import Bounds, Box
from ..renderer.camera import OrbitCamera
from ..renderer.layers import Layer
from ..renderer.transition import Transition
from ..scene import Scene
from ..scene.viewpoints import home

REMEMBERED = 64  # views to go back to
LONGEST = 0.1  # seconds of a frame's movement: after a wait it goes on from where it was
FLIGHT = 0.6  # distances to the target that are flown in a second
SLOWEST, FASTEST = 0.01, 100.0  # factors of that
Thrust = tuple[float, float, float]  # to the right, up, forward; 1 is full speed
NEVER = 1 << 62
ALIKE = 0.1  # of the distance, by which two cameras that are fitted to nearly the same may differ
STILL: Thrust = (0.0, 0.0, 0.0)
SIDES: dict[str, Thrust] = {  # to the right, up, and toward who stands in front
    "front": (0.0, 0.0, 1.0),
    "back": (0.0, 0.0, -1.0),
    "right": (1.0, 0.0, 0.0),
    "left": (-1.0, 0.0, 0.0),
    "top": (0.0, 1.0, 0.0),
    "bottom": (0.0, -1.0, 0.0),
}


class Cameras:
    """`now` is the camera that draws: the same object for as long as the scene is open.

    `turntable` is in degrees a second around the upward axis; `thrust` is how it flies, `fly_speed` how fast.
    """

    def __init__(self, scene: Scene, fly_speed: float = 1.0):
        self.now = home(scene)
        self.turntable = 0.0
        self.thrust = STILL
        self.fly_speed = fly_speed
        self.flight_mode = False  # the flight keys fly without a button held
        self._views: deque[OrbitCamera] = deque(maxlen=REMEMBERED)
        self._way: Transition | None = None
        self._bounds: tuple[Bounds, Callable[[Box], None]] | None = None
        self._fit_at = NEVER  # the step after which `fit` looks again
        self._fitted: tuple[Thrust, float] | None = None  # target and distance, as it left them

    @property
    def moving(self) -> bool:
        """Whether the camera moves, or may soon."""
        return bool(self._way or self._bounds or self.turntable or self.thrust != STILL)

    @property
    def can_go_back(self) -> bool:
        """Whether there is a view to go back to."""
        return bool(self._views)

    @property
    def heading(self) -> OrbitCamera:
        """Where it stands, or is on its way to."""
        return self._way.goal if self._way else self.now

    def advance(self, seconds: float) -> None:
        """Move as far as the camera does by itself in so long."""
        seconds = min(seconds, LONGEST)
        if self._way is not None:
            self.now.take(self._way.advance(seconds))
            self._way = None if self._way.done else self._way
        if self.turntable:
            self.now.orbit(math.radians(self.turntable) * seconds, 0.0)
        if self.thrust != STILL:
            length = FLIGHT * self.fly_speed * self.now.distance * seconds
            right, rise, forward = (length * part for part in self.thrust)
            self.now.fly(right, rise, forward)

    def moved_by_user(self) -> OrbitCamera:
        """The camera, to be moved by the user: where it was on its way to is given up."""
        self._way = self._bounds = None
        return self.now

    def remember(self) -> None:
        """Keep this view to be gone back to, unless it is the last one kept."""
        view = self.heading
        if not self._views or self._views[-1] != view:
            self._views.append(OrbitCamera(**vars(view)))

    def go(self, goal: OrbitCamera) -> None:
        """Move to another view, gently; this one can be gone back to."""
        if goal == self.heading:
            return
        self.remember()
        self._set_out(goal)

    def go_back(self) -> None:
        """To the view that was remembered last. Raises `InputError` if there is none."""
        while self._views and self._views[-1] == self.heading:
            self._views.pop()
        if not self._views:
            raise InputError("there is no view to go back to")
        self._set_out(self._views.pop())

    def jump(self, camera: OrbitCamera) -> None:
        """Be elsewhere at once, as when another scene is opened."""
        self._way = self._bounds = None
        self.now.take(camera)

    def change(self, **values: Any) -> None:
        """Move to where these fields of the camera are other ones. Raises `ParameterError`."""
        try:
            self.go(OrbitCamera(**(vars(self.heading) | values)))
        except ValueError as error:
            raise ParameterError(str(error)) from None

    def set_lens(self, fov: float) -> None:
        """Set the vertical field of view [degrees]; the target keeps its size.

        Raises `ParameterError`.
        """
        now = self.moved_by_user()
        try:
            lens = OrbitCamera(fov=fov)
        except ValueError as error:
            raise ParameterError(str(error)) from None
        now.fov, now.distance = fov, now.half_height * lens.distance / lens.half_height

    def face(self, direction: tuple[float, float, float]) -> None:
        """Look at the target from this direction, in world space."""
        goal = OrbitCamera(**vars(self.heading))
        goal.face(direction)
        self.go(goal)

    def face_side(self, side: str) -> None:
        """Look at the target from one of `SIDES`. Raises `ParameterError`."""
        if side not in SIDES:
            raise ParameterError(unknown("side", side, SIDES))
        right, above, back = SIDES[side]
        self.face((right, above, back) if self.now.up == "y" else (right, -back, above))

    def accelerate(self, factor: float) -> None:
        """Fly so many times as fast."""
        self.fly_speed = min(max(self.fly_speed * factor, SLOWEST), FASTEST)

    # framing ----------------------------------------------------------------------------------------------------

    def frame(self, layers: Iterable[Layer], aspect: float) -> None:
        """Show all of the layers, once their bounds have been found. Raises `InputError` if there are no layers."""
        self._find(layers, lambda box: self._show(box, aspect))

    def fit(self, layers: Iterable[Layer], aspect: float, finish: Callable[[], None], step: int | None = None) -> None:
        """Be where all of the layers are seen, at once; `finish` waits for the GPU. Stays if no position is a number.

        Models of the user's own may write their positions in their first step only, so call it after each `step` as
        well: it looks once more then, and after step 2, 4, 8, ... while everything is at one place, or nowhere. It
        stays where it is if that differs little, or if the camera is elsewhere by now.
        """
        moved = self._fitted != (self.now.target, self.now.distance)
        if step is not None and (step < self._fit_at or moved):
            return
        bounds = Bounds(layers)
        finish()
        box, goal = bounds.result(), OrbitCamera(**vars(self.now))
        if box is not None:
            goal.fit(box[0].tolist(), box[1].tolist(), aspect)
            if step is None or not _alike(goal, self.now):
                self.jump(goal)
        self._fitted = self.now.target, self.now.distance
        found = box is not None and bool(np.any(box[1] > box[0]))
        self._fit_at = 1 if step is None else NEVER if found else 2 * step

    def frame_place(self, layers: Iterable[Layer], place: tuple[float, float, float], share: float) -> None:
        """Show what lies around a place, as far as a `share` of the layers' size."""

        def show(box: Box) -> None:
            goal = OrbitCamera(**vars(self.heading))
            goal.fit((box[0] * share).tolist(), (box[1] * share).tolist())  # for its size
            goal.target = place
            self.go(goal)

        self._find(layers, show)

    def collect(self) -> None:
        """Set out for what was to be framed, once it is known where that is. Raises `InputError` if it is nowhere."""
        if self._bounds is None or not self._bounds[0].done:
            return
        (bounds, show), self._bounds = self._bounds, None
        try:
            box = bounds.result()
        except GpuError:  # the frame they were recorded in was dropped
            return
        if box is None:
            raise InputError("there is nothing to be framed: no position is a number")
        show(box)

    # inside -----------------------------------------------------------------------------------------------------

    def _set_out(self, goal: OrbitCamera) -> None:
        self._bounds = None
        self._way = Transition(self.now, goal)

    def _find(self, layers: Iterable[Layer], then: Callable[[Box], None]) -> None:
        layers = list(layers)
        if not layers:
            raise InputError("there is nothing to be framed: the scene has no layers")
        self._bounds = Bounds(layers), then

    def _show(self, box: Box, aspect: float) -> None:
        goal = OrbitCamera(**vars(self.heading))
        goal.fit(box[0].tolist(), box[1].tolist(), aspect)
        self.go(goal)


def _alike(one: OrbitCamera, other: OrbitCamera) -> bool:
    room = ALIKE * other.distance
    return math.dist(one.target, other.target) <= room and abs(one.distance - other.distance) <= room
