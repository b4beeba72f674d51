"""`Transition`: interpolates between two views, with ease-in and ease-out."""

from __future__ import annotations

import math

from .camera import OrbitCamera

SECONDS = 0.3
FLAT = math.tan(math.radians(1.5))  # half the height at distance 1 of a lens that looks orthographic


class Transition:
    """From `start` to `goal` within `SECONDS`; between perspective and orthographic, the field of view changes too."""

    def __init__(self, start: OrbitCamera, goal: OrbitCamera):
        self.start, self.goal = OrbitCamera(**vars(start)), OrbitCamera(**vars(goal))
        self._passed = 0.0

    @property
    def done(self) -> bool:
        """Whether the transition has ended."""
        return self._passed >= SECONDS

    def advance(self, seconds: float) -> OrbitCamera:
        """The camera after so many more seconds; the goal itself at the end."""
        self._passed += seconds
        return self.goal if self.done else between(self.start, self.goal, eased(self._passed / SECONDS))


def eased(fraction: float) -> float:
    """0 to 1 for 0 to 1, with no speed at either end."""
    return fraction * fraction * (3.0 - 2.0 * fraction)


def between(start: OrbitCamera, goal: OrbitCamera, fraction: float) -> OrbitCamera:
    """The view at `fraction` between the two, around the smaller angle; sizes are interpolated geometrically."""
    lens = _geometric(lens_of(start), lens_of(goal), fraction)
    half_height = _geometric(start.half_height, goal.half_height, fraction)
    turn = math.remainder(goal.yaw - start.yaw, math.tau)
    x, y, z = (a + fraction * (b - a) for a, b in zip(start.target, goal.target, strict=True))
    return OrbitCamera(
        target=(x, y, z),
        distance=half_height / lens,
        yaw=math.remainder(start.yaw + fraction * turn, math.tau),
        pitch=start.pitch + fraction * (goal.pitch - start.pitch),
        fov=math.degrees(2.0 * math.atan(lens)),
        up=goal.up,
        orthographic=start.orthographic and goal.orthographic,
    )


def lens_of(camera: OrbitCamera) -> float:
    """Half the visible height at distance 1; of an orthographic camera, that of a very long lens."""
    return FLAT if camera.orthographic else camera.half_height / camera.distance


def _geometric(start: float, goal: float, fraction: float) -> float:
    """Geometric interpolation: equal factors in equal times."""
    return start * (goal / start) ** fraction
