"""`Transition`: interpolates between two views, and starts and ends gently."""

from __future__ import annotations

import math

from .camera import OrbitCamera

SECONDS = 0.3
FLAT = math.tan(math.radians(1.5))  # half the height seen at distance 1 by a lens that looks like none


class Transition:
    """From `start` to `goal` within `SECONDS`; between perspective and none the lens grows longer, or shorter."""

    def __init__(self, start: OrbitCamera, goal: OrbitCamera):
        self.start, self.goal = OrbitCamera(**vars(start)), OrbitCamera(**vars(goal))
        self._passed = 0.0

    @property
    def done(self) -> bool:
        """Whether the goal is reached."""
        return self._passed >= SECONDS

    def advance(self, seconds: float) -> OrbitCamera:
        """The camera so much later; the goal itself at the end."""
        self._passed += seconds
        return self.goal if self.done else between(self.start, self.goal, eased(self._passed / SECONDS))


def eased(share: float) -> float:
    """0 to 1 for 0 to 1, with no speed at either end."""
    return share * share * (3.0 - 2.0 * share)


def between(start: OrbitCamera, goal: OrbitCamera, share: float) -> OrbitCamera:
    """The view at the fraction `share` between the two, around the smaller angle. What is seen grows evenly."""
    lens = _even(_lens(start), _lens(goal), share)
    half_height = _even(start.half_height, goal.half_height, share)
    turn = math.remainder(goal.yaw - start.yaw, math.tau)
    x, y, z = (a + share * (b - a) for a, b in zip(start.target, goal.target, strict=True))
    return OrbitCamera(
        target=(x, y, z),
        distance=half_height / lens,
        yaw=math.remainder(start.yaw + share * turn, math.tau),
        pitch=start.pitch + share * (goal.pitch - start.pitch),
        fov=math.degrees(2.0 * math.atan(lens)),
        up=goal.up,
        orthographic=start.orthographic and goal.orthographic,
    )


def _lens(camera: OrbitCamera) -> float:
    return FLAT if camera.orthographic else camera.half_height / camera.distance


def _even(start: float, goal: float, share: float) -> float:
    """By equal factors in equal times."""
    return start * (goal / start) ** share
