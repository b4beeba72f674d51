"""`Gizmo`: arrows in the picture by which a place of the scene, a parameter of three numbers, is moved by hand."""

from __future__ import annotations

import math
from itertools import count

import numpy as np
from imgui_bundle import ImVec2, imgui
from imgui_bundle import imguizmo as _imguizmo  # pyright: ignore[reportMissingModuleSource]

from ..params import ParamSpec
from ..renderer.camera import OrbitCamera
from ..session import Session
from ..session.commands import SetParameter
from ..session.parameters import Key, spec_of
from .docks import Rect
from .rows import scale

REACH = 78.0  # from the place to the tips of the arrows, in logical pixels
NEAR = 11.0  # logical pixels from an arrow in which a press is its own
FAR = 1e4  # of the far plane, in distances of the camera: ImGuizmo wants one
DIGITS = 6  # of a coordinate
_FLAGS = (
    imgui.WindowFlags_.no_decoration
    | imgui.WindowFlags_.no_background
    | imgui.WindowFlags_.no_inputs
    | imgui.WindowFlags_.no_saved_settings
    | imgui.WindowFlags_.no_docking
    | imgui.WindowFlags_.no_nav
    | imgui.WindowFlags_.no_focus_on_appearing
    | imgui.WindowFlags_.no_bring_to_front_on_focus
)
_gizmo = _imguizmo.im_guizmo

Place = tuple[float, float, float]


class Gizmo:
    """Drawn for one parameter at a time. A drag from press to release is undone together.

    A place whose change makes its model anew is set when it is let go.
    """

    def __init__(self) -> None:
        self._strokes = count()
        self._stroke: int | None = None  # of the drag that is under way
        self._pending: Place | None = None
        self._corners: np.ndarray | None = None  # pixels of the place and of the three tips, as they were drawn last

    def draw(self, session: Session, key: Key | None, picture: Rect) -> None:
        """Draw it at the place that `key` names, if that is in the scene, and post where it was dragged to."""
        self._corners = None
        found = _place(session, key)
        if key is None or found is None or min(picture.width, picture.height) <= 0:
            self._stroke = self._pending = None
            return
        spec, value = found
        place = self._pending or value
        self._corners = corners(session.camera, place, picture, REACH * scale())
        moved = self._manipulate(session.camera, place, picture) if self._corners is not None else None
        self._follow(session, key, spec, moved)

    def holds(self, x: float, y: float) -> bool:
        """Whether a press at this pixel is the gizmo's."""
        if self._stroke is not None:
            return True
        return self._corners is not None and is_near(self._corners, x, y, NEAR * scale())

    def _manipulate(self, camera: OrbitCamera, place: Place, picture: Rect) -> Place | None:
        """Draw the arrows; where they were dragged to, if they were in this frame."""
        imgui.set_next_window_pos(ImVec2(picture.left, picture.top))
        imgui.set_next_window_size(ImVec2(picture.width, picture.height))
        imgui.begin("##gizmo", None, _FLAGS)
        _gizmo.begin_frame()
        _gizmo.set_drawlist()
        _gizmo.set_rect(picture.left, picture.top, picture.width, picture.height)
        _gizmo.set_orthographic(camera.orthographic)
        _gizmo.allow_axis_flip(False)
        _gizmo.set_gizmo_size_clip_space(2.0 * REACH * scale() / max(picture.width, picture.height))
        world = np.eye(4)
        world[:3, 3] = place
        matrix = _matrix(world)
        projection = _matrix(finite_projection(camera, picture.width / picture.height))
        operation, mode = _gizmo.OPERATION.translate, _gizmo.MODE.world
        moved = _gizmo.manipulate(_matrix(camera.view()), projection, operation, mode, matrix)
        imgui.end()
        x, y, z = (float(part) for part in matrix.values[12:15])
        return (x, y, z) if moved else None

    def _follow(self, session: Session, key: Key, spec: ParamSpec, moved: Place | None) -> None:
        using = _gizmo.is_using()
        if using and self._stroke is None:
            self._stroke = next(self._strokes)
        if using and moved is not None:
            self._pending = _limited(spec, moved)
        if self._pending is not None and not (using and spec.rebuild):
            session.post(SetParameter(*key, self._pending, -1 - (self._stroke or 0)))  # not one of the panel's strokes
            self._pending = None
        if not using:
            self._stroke = None


def _place(session: Session, key: Key | None) -> tuple[ParamSpec, Place] | None:
    """The parameter and its value, if it is a place of the scene that there is."""
    owners = session.parameters()
    if key is None or key.owner not in owners or not hasattr(owners[key.owner], key.name):
        return None
    spec, value = spec_of(owners, key), getattr(owners[key.owner], key.name)
    return (spec, value) if spec.gizmo and isinstance(value, tuple) else None


def corners(camera: OrbitCamera, place: Place, picture: Rect, reach: float) -> np.ndarray | None:
    """Pixels of a place, and of the ends of three arrows from it along the axes, shape (4, 2); None if it lies behind.

    An arrow across the view is `reach` pixels long.
    """
    depth = -(camera.view() @ [*place, 1.0])[2]
    if depth <= 0.0 and not camera.orthographic:
        return None
    length = reach * camera.pixel(picture.height) * (1.0 if camera.orthographic else depth)
    points = np.array(place) + np.vstack([np.zeros(3), length * np.eye(3)])
    clip = np.column_stack([points, np.ones(4)]) @ (camera.projection(picture.width / picture.height) @ camera.view()).T
    if (clip[:, 3] <= 0.0).any():
        return None
    x, y = clip[:, 0] / clip[:, 3], clip[:, 1] / clip[:, 3]
    return np.column_stack(
        [picture.left + (x + 1.0) / 2.0 * picture.width, picture.top + (1.0 - y) / 2.0 * picture.height]
    )


def is_near(corners: np.ndarray, x: float, y: float, near: float) -> bool:
    """Whether a pixel is on one of the arrows, or between two of them where the planes lie."""
    middle, tips = corners[0], corners[1:]
    mouse = np.array((x, y))
    for tip in tips:
        way = tip - middle
        share = float(np.clip((mouse - middle) @ way / max(float(way @ way), 1e-12), 0.0, 1.0))
        if float(np.hypot(*(mouse - middle - share * way))) <= near:
            return True
    return any(_is_between(mouse - middle, tips[a] - middle, tips[b] - middle) for a, b in ((0, 1), (0, 2), (1, 2)))


def finite_projection(camera: OrbitCamera, aspect: float) -> np.ndarray:
    """What the camera does, with depths from -1 to 1 and a far plane, as ImGuizmo expects them."""
    if camera.orthographic:
        near, far = -FAR * camera.distance, FAR * camera.distance
        scale_ = 1.0 / camera.half_height
        return np.array(
            [
                [scale_ / aspect, 0.0, 0.0, 0.0],
                [0.0, scale_, 0.0, 0.0],
                [0.0, 0.0, -2.0 / (far - near), -(far + near) / (far - near)],
                [0.0, 0.0, 0.0, 1.0],
            ]
        )
    near, far, scale_ = camera.near, FAR * camera.distance, 1.0 / math.tan(math.radians(camera.fov) / 2.0)
    return np.array(
        [
            [scale_ / aspect, 0.0, 0.0, 0.0],
            [0.0, scale_, 0.0, 0.0],
            [0.0, 0.0, -(far + near) / (far - near), -2.0 * far * near / (far - near)],
            [0.0, 0.0, -1.0, 0.0],
        ]
    )


def _is_between(mouse: np.ndarray, one: np.ndarray, other: np.ndarray) -> bool:
    """Whether it is within the parallelogram of two arrows, as far as the planes reach."""
    area = one[0] * other[1] - one[1] * other[0]
    if abs(area) < 1e-6:
        return False
    a = (mouse[0] * other[1] - mouse[1] * other[0]) / area
    b = (one[0] * mouse[1] - one[1] * mouse[0]) / area
    return bool(0.0 <= a <= 0.85 and 0.0 <= b <= 0.85)


def _limited(spec: ParamSpec, place: Place) -> Place:
    low = -math.inf if spec.min is None else spec.min
    high = math.inf if spec.max is None else spec.max
    x, y, z = (min(max(float(f"{part:.{DIGITS}g}"), low), high) for part in place)
    return x, y, z


def _matrix(matrix: np.ndarray) -> _gizmo.Matrix16:
    """Column by column."""
    return _gizmo.Matrix16(matrix.T.ravel().tolist())
