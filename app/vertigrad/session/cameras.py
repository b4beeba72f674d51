"""`Cameras`: the camera of the viewport, its automatic motion, and the history of its views."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ..errors import GpuError, InputError, ParameterError
from ..models.base import Viewpoint
from ..params import unknown
from ..renderer.bounds import Bounds, Box
from ..renderer.camera import OrbitCamera
from ..renderer.camera_path import CameraPath
from ..renderer.layers import Layer
from ..renderer.transition import Transition
from ..scene import Scene
from ..scene.viewpoints import home

REMEMBERED = 64  # previous views
LONGEST = 0.1  # seconds of motion in a frame: after a pause the camera does not jump
FLIGHT = 0.6  # flight speed, in distances to the target per second
SLOWEST, FASTEST = 0.01, 100.0  # factors of that
Thrust = tuple[float, float, float]  # to the right, up, forward; 1 is full speed
NEVER = 1 << 62
ALIKE = 0.1  # of the distance: cameras that differ by less show nearly the same
NO_THRUST: Thrust = (0.0, 0.0, 0.0)
SIDES: dict[str, Thrust] = {  # to the right, up, and toward a viewer in front
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
        self.thrust = NO_THRUST
        self.fly_speed = fly_speed
        self.following = True  # the keyframes of the scene, if it has some, as time passes
        self._followed: tuple[float, Mapping[int, OrbitCamera]] | None = (
            None  # the frame and the keyframes of this view
        )
        self._path: CameraPath | None = None  # through these keyframes
        self.flight_mode = False  # the flight keys fly without a button held
        self._views: deque[OrbitCamera] = deque(maxlen=REMEMBERED)
        self._transition: Transition | None = None
        self._bounds: tuple[Bounds, Callable[[Box], None]] | None = None
        self._fit_at = NEVER  # the step after which `fit` checks the bounds again
        self._fitted: tuple[Thrust, float] | None = None  # target and distance, as it left them

    @property
    def moving(self) -> bool:
        """Whether the camera moves, or may soon."""
        return bool(self._transition or self._bounds or self.turntable or self.thrust != NO_THRUST)

    @property
    def can_go_back(self) -> bool:
        """Whether there is a view to go back to."""
        return bool(self._views)

    @property
    def heading(self) -> OrbitCamera:
        """The view that the camera is moving to, or has."""
        return self._transition.goal if self._transition else self.now

    def advance(self, seconds: float) -> None:
        """Advance transitions, turntable and flight by this time."""
        seconds = min(seconds, LONGEST)
        if self._transition is not None:
            self.now.take(self._transition.advance(seconds))
            self._transition = None if self._transition.done else self._transition
        if self.turntable:
            self.now.orbit(math.radians(self.turntable) * seconds, 0.0)
        if self.thrust != NO_THRUST:
            length = FLIGHT * self.fly_speed * self.now.distance * seconds
            right, rise, forward = (length * part for part in self.thrust)
            self.now.fly(right, rise, forward)

    def follow(self, keyframes: Mapping[int, OrbitCamera], frame: float) -> None:
        """Take the view of the keyframes at a frame, once: until frame or keyframes change, the camera can be moved."""
        known = self._followed[1] if self._followed else None
        if not keyframes or not self.following:
            self._followed = None
            return
        if self._path is None or known is not keyframes:
            self._path = CameraPath(keyframes)
        elif self._followed is not None and self._followed[0] == frame:
            return
        self._followed = frame, keyframes
        self.jump(self._path.at(frame))

    def set_following(self, on: bool) -> None:
        """Follow the keyframes, or not."""
        self.following, self._followed = on, None

    def moved_by_user(self) -> OrbitCamera:
        """The camera, to be moved by the user; a transition in progress is canceled."""
        self._transition = self._bounds = None
        return self.now

    def remember(self) -> None:
        """Add this view to the history, unless it is the last one there."""
        view = self.heading
        if not self._views or self._views[-1] != view:
            self._views.append(OrbitCamera(**vars(view)))

    def go(self, goal: OrbitCamera) -> None:
        """Move smoothly to another view; `go_back` returns to this one."""
        if goal == self.heading:
            return
        self.remember()
        self._move_to(goal)

    def go_back(self) -> None:
        """Return to the last view of the history. Raises `InputError` if it is empty."""
        while self._views and self._views[-1] == self.heading:
            self._views.pop()
        if not self._views:
            raise InputError("there is no view to go back to")
        self._move_to(self._views.pop())

    def jump(self, camera: OrbitCamera) -> None:
        """Take this view at once, as when another scene is opened."""
        self._transition = self._bounds = None
        self.now.take(camera)

    def change(self, **values: Any) -> None:
        """Move to the view with these fields of the camera changed. Raises `ParameterError`."""
        self.go(_camera(**(vars(self.heading) | values)))

    def set_lens(self, fov: float) -> None:
        """Set the vertical field of view [degrees]; the target keeps its size. Raises `ParameterError`."""
        now, lens = self.moved_by_user(), _camera(fov=fov)
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
        """Multiply the flight speed."""
        self.fly_speed = min(max(self.fly_speed * factor, SLOWEST), FASTEST)

    # framing ----------------------------------------------------------------------------------------------------

    def frame(self, layers: Iterable[Layer], aspect: float) -> None:
        """Show all of the layers, once their bounds have been found. Raises `InputError` if there are no layers."""
        self._find(layers, lambda box: self._show(box, aspect))

    def frame_view(self, layers: Iterable[Layer], aspect: float) -> None:
        """As `frame`, as large as this direction of view allows."""
        self._find(layers, lambda box: self._show(box, aspect, OrbitCamera.fit_view))

    def fit(self, layers: Iterable[Layer], aspect: float, finish: Callable[[], None], step: int | None = None) -> None:
        """Show all of the layers at once; `finish` waits for the GPU. Does nothing if no position is finite.

        Models of the user's own may write their positions in their first step only, so call it after each `step` as
        well: it checks the bounds once more then, and after step 2, 4, 8, ... while they are a single point, or no
        position is finite. The camera stays if the view would change little, or if it was moved since.
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

    def frame_position(self, layers: Iterable[Layer], position: tuple[float, float, float], fraction: float) -> None:
        """Show the surroundings of a position, as large as this fraction of the layers' size."""

        def show(box: Box) -> None:
            goal = OrbitCamera(**vars(self.heading))
            goal.fit((box[0] * fraction).tolist(), (box[1] * fraction).tolist())  # for its size
            goal.target = position
            self.go(goal)

        self._find(layers, show)

    def collect(self) -> None:
        """Start the transition to what is to be framed, once its bounds are known. Raises `InputError` without any."""
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

    def _move_to(self, goal: OrbitCamera) -> None:
        self._bounds = None
        self._transition = Transition(self.now, goal)

    def _find(self, layers: Iterable[Layer], then: Callable[[Box], None]) -> None:
        layers = list(layers)
        if not layers:
            raise InputError("there is nothing to be framed: the scene has no layers")
        self._bounds = Bounds(layers), then

    def _show(self, box: Box, aspect: float, fit: Callable[..., None] = OrbitCamera.fit) -> None:
        goal = OrbitCamera(**vars(self.heading))
        fit(goal, box[0].tolist(), box[1].tolist(), aspect)
        self.go(goal)


def _camera(**values: Any) -> OrbitCamera:
    try:
        return OrbitCamera(**values)
    except ValueError as error:
        raise ParameterError(str(error)) from None


def _alike(one: OrbitCamera, other: OrbitCamera) -> bool:
    room = ALIKE * other.distance
    return math.dist(one.target, other.target) <= room and abs(one.distance - other.distance) <= room


def viewpoint(camera: OrbitCamera, size: tuple[int, int]) -> Viewpoint:
    """What an image of this size shows, for models that hold a part of their data."""
    projection = camera.projection(size[0] / size[1])
    across = np.array((projection[0, 0], projection[1, 1]))
    return Viewpoint(projection @ camera.view(), size[1], across, abs(float(projection[3, 2])))
