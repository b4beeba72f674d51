"""`Gizmo`: handles in the viewport that move a position of the scene, a parameter of three numbers."""

from __future__ import annotations

import math
from itertools import count
from typing import NamedTuple

import numpy as np
from imgui_bundle import imgui

from ..params import ParamSpec
from ..renderer.camera import OrbitCamera
from ..renderer.handles import Handles
from ..session import Session
from ..session.commands import SetParameter
from ..session.parameters import Key, spec_of
from ..session.ranges import limited
from ..session.tool import Ray, ray
from .axes import TINTS
from .docks import Rect
from .rows import scale

REACH = 78.0  # from the position to the tips of the arrows, in logical pixels
NEAR = 10.0  # logical pixels from an arrow, or from the middle, in which a press is its own
SQUARE = 0.24, 0.52  # of a plane, in lengths of its two arrows; mirrored by draw/handles.wgsl
SHORT, FLAT = 0.2, 0.15  # parts that appear smaller than this fraction of their full size cannot be dragged
PLANES, MIDDLE = 3, 6  # numbers of the parts: arrows, from 3 on the planes across them, and the one along the screen
STEEP = 0.02  # sine of the angle below which a line of sight goes along an arrow or a plane
_RED, _GREEN, _BLUE = ((tint.x, tint.y, tint.z) for tint in TINTS)

Position = tuple[float, float, float]


class Grip(NamedTuple):
    """A drag: the part, and the position and the ray through the mouse at its start."""

    part: int
    position: Position
    ray: Ray


class Gizmo:
    """Of one parameter at a time. A drag from press to release is undone together; the renderer draws `handles`.

    A position whose change rebuilds its model is set when the mouse is released.
    """

    def __init__(self) -> None:
        self.handles: Handles | None = None
        self._strokes = count()
        self._stroke = 0  # the number of the drag that is in progress, or was
        self._grip: Grip | None = None
        self._pending: Position | None = None
        self._ends: np.ndarray | None = None  # of the arrows, in pixels of the window

    def draw(self, session: Session, key: Key | None, viewport: Rect) -> None:
        """Place it at the position that `key` names, if the scene has it, and post where it was dragged to."""
        found = _position(session, key)
        self.handles = self._ends = None
        if key is None or found is None or min(viewport.width, viewport.height) <= 0:
            self._grip = self._pending = None
            return
        spec, value = found
        position, reach = self._pending or value, REACH * scale()
        projected = ends(session.camera, position, (viewport.width, viewport.height), reach)
        if projected is not None:
            self._ends = projected[:, :2] + (viewport.left, viewport.top)
            self._drag(session.camera, viewport, spec, value)
            lit = self._grip.part if self._grip else self._under_mouse()
            self.handles = Handles(projected, (_RED, _GREEN, _BLUE), lit, scale(), reach)
        self._follow(session, key, spec)

    def holds(self, x: float, y: float) -> bool:
        """Whether a press at this pixel is for the gizmo."""
        return self._grip is not None or (self._ends is not None and part_at(self._ends, x, y, scale()) is not None)

    def _under_mouse(self) -> int | None:
        """The part that a press would drag."""
        mouse, io = imgui.get_mouse_pos(), imgui.get_io()
        if self._ends is None or io.want_capture_mouse:
            return None
        return part_at(self._ends, mouse.x, mouse.y, scale())

    def _drag(self, camera: OrbitCamera, viewport: Rect, spec: ParamSpec, value: Position) -> None:
        """Begin a drag, or compute the position that it leads to."""
        mouse = imgui.get_mouse_pos()
        now = ray(camera, (mouse.x - viewport.left, mouse.y - viewport.top), (viewport.width, viewport.height))
        if imgui.is_mouse_clicked(imgui.MouseButton_.left.value):
            part = self._under_mouse()
            if part is not None:
                self._grip, self._stroke = Grip(part, value, now), next(self._strokes)
        elif self._grip is not None and imgui.is_mouse_down(imgui.MouseButton_.left.value):
            moved = dragged(self._grip, now, camera)
            if moved is not None and moved != self._grip.position:
                x, y, z = (limited(spec, part) for part in moved)
                self._pending = x, y, z

    def _follow(self, session: Session, key: Key, spec: ParamSpec) -> None:
        held = self._grip is not None and imgui.is_mouse_down(imgui.MouseButton_.left.value)
        if self._pending is not None and not (held and spec.rebuild):
            session.post(SetParameter(*key, self._pending, -1 - self._stroke))  # not one of the panel's strokes
            self._pending = None
        if not held:
            self._grip = None


def _position(session: Session, key: Key | None) -> tuple[ParamSpec, Position] | None:
    """The parameter and its value, if it is a position of the scene."""
    owners = session.parameters()
    if key is None or key.owner not in owners or not hasattr(owners[key.owner], key.name):
        return None
    spec, value = spec_of(owners, key), getattr(owners[key.owner], key.name)
    return (spec, value) if spec.gizmo and isinstance(value, tuple) else None


def ends(camera: OrbitCamera, position: Position, size: tuple[int, int], reach: float) -> np.ndarray | None:
    """A position and the tips of three arrows along the axes, in a viewport of `size`; None if it is behind the eye.

    Shape (4, 3): pixels from the upper left, and the depth of clip space. An arrow across the view is `reach` pixels
    long.
    """
    depth = -(camera.view() @ [*position, 1.0])[2]
    if depth <= 0.0 and not camera.orthographic:
        return None
    length = reach * camera.pixel(size[1]) * (1.0 if camera.orthographic else depth)
    points = np.array(position) + np.vstack([np.zeros(3), length * np.eye(3)])
    clip = np.column_stack([points, np.ones(4)]) @ (camera.projection(size[0] / size[1]) @ camera.view()).T
    if (clip[:, 3] <= 0.0).any():
        return None
    x, y, z = (clip[:, :3] / clip[:, 3:]).T
    return np.column_stack([(x + 1.0) / 2.0 * size[0], (1.0 - y) / 2.0 * size[1], z])


def part_at(ends: np.ndarray, x: float, y: float, unit: float) -> int | None:
    """The part at a pixel, the ends (4, 2) of the arrows being in the same ones; `unit` pixels to a logical one."""
    middle, tips = ends[0], ends[1:]
    mouse = np.array((x, y)) - middle
    if float(np.hypot(*mouse)) <= NEAR * unit:
        return MIDDLE
    arrows = tips - middle
    off = [_off(mouse, arrow) if np.hypot(*arrow) > SHORT * REACH * unit else math.inf for arrow in arrows]
    nearest = int(np.argmin(off))
    if off[nearest] <= NEAR * unit:
        return nearest
    inside = (axis for axis in range(3) if _is_on_plane(mouse, arrows[axis - 2], arrows[axis - 1], unit))
    return next((PLANES + axis for axis in inside), None)


def dragged(grip: Grip, now: Ray, camera: OrbitCamera) -> Position | None:
    """The dragged position when the mouse is on the ray `now`; None if the ray is parallel to the arrow or plane."""
    start = np.array(grip.position)
    meet = _along if grip.part < PLANES else _across
    line = camera.rotation()[:, 2] if grip.part == MIDDLE else np.eye(3)[grip.part % 3]
    before, after = (meet(start, line, ray) for ray in (grip.ray, now))
    if before is None or after is None:
        return None
    x, y, z = (float(part) for part in start + after - before)
    return x, y, z


def _along(start: np.ndarray, line: np.ndarray, ray: Ray) -> np.ndarray | None:
    """The point of a line that is nearest to a ray."""
    sight = ray.along / np.linalg.norm(ray.along)
    across, off = float(line @ sight), start - ray.origin
    separation = 1.0 - across**2
    if separation < STEEP**2 or (far := float(sight @ off - across * (line @ off)) / separation) <= 0.0:
        return None
    return start + (far * across - float(line @ off)) * line


def _across(start: np.ndarray, normal: np.ndarray, ray: Ray) -> np.ndarray | None:
    """Where a ray meets the plane through `start`."""
    sight = ray.along / np.linalg.norm(ray.along)
    toward = float(normal @ sight)
    if abs(toward) < STEEP or (far := float(normal @ (start - ray.origin)) / toward) <= 0.0:
        return None
    return ray.origin + far * sight


def _off(mouse: np.ndarray, arrow: np.ndarray) -> float:
    """The distance of a pixel from an arrow, both relative to the start of the arrow."""
    nearest = float(np.clip(mouse @ arrow / (arrow @ arrow), 0.0, 1.0)) * arrow
    return float(np.hypot(*(mouse - nearest)))


def _is_on_plane(mouse: np.ndarray, one: np.ndarray, other: np.ndarray, unit: float) -> bool:
    """Whether it is within the square between two arrows."""
    area = one[0] * other[1] - one[1] * other[0]
    if abs(area) < FLAT * (REACH * unit) ** 2:
        return False
    a = (mouse[0] * other[1] - mouse[1] * other[0]) / area
    b = (one[0] * mouse[1] - one[1] * mouse[0]) / area
    return bool(SQUARE[0] <= a <= SQUARE[1] and SQUARE[0] <= b <= SQUARE[1])
