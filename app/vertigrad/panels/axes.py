"""`Axes`: the axes of the world in a corner of the viewport: a click views along one, a drag orbits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from imgui_bundle import ImVec2, ImVec4, imgui, imgui_ctx

from ..renderer.camera import OrbitCamera
from ..session import Session
from ..session.commands import Face, Orbit, Parallel, RememberView
from .docks import Rect
from .rows import color, fitted, scale
from .theme import BAR, DIM, TEXT, bold
from .windows import MARGIN, OVER_VIEWPORT

RADIUS = 37.0  # from the middle to the balls; all in logical pixels
BALL, HOLLOW = 9.0, 6.5  # radii of the balls at the positive ends, and at the others
LINE = 2.2
NEEDED = 300.0, 240.0  # width and height of a viewport that has room for it
DRAG = 3.0  # pixels from which on a click is a drag
TURN = 0.012  # radians for each of them
SHADE = 0.42  # how much darker what points away is
NAMES = "XYZ"
TINTS = ImVec4(0.93, 0.38, 0.40, 1.0), ImVec4(0.56, 0.80, 0.38, 1.0), ImVec4(0.40, 0.62, 0.97, 1.0)
_FLAGS = OVER_VIEWPORT | imgui.WindowFlags_.no_background | imgui.WindowFlags_.no_bring_to_front_on_focus


class End(NamedTuple):
    """One end of an axis: where it is from the middle, x to the right and y down, `toward` the viewer from -1 to 1."""

    axis: int
    sign: int
    x: float
    y: float
    toward: float

    @property
    def direction(self) -> tuple[float, float, float]:
        """In world space."""
        x, y, z = (float(self.sign * (axis == self.axis)) for axis in range(3))
        return x, y, z


def ends(camera: OrbitCamera) -> list[End]:
    """The six ends at a distance of 1, those farthest from the viewer first."""
    turned = camera.rotation().T
    found = [
        End(axis, sign, sign * turned[0, axis], -sign * turned[1, axis], sign * turned[2, axis])
        for axis in range(3)
        for sign in (1, -1)
    ]
    return sorted(found, key=lambda end: (end.toward, end.sign))


class Axes:
    """Drawn each frame over the upper right of the viewport, if that is large enough."""

    def __init__(self) -> None:
        self._turned = False  # the mouse was dragged since it went down
        self._ends: list[End] = []
        self._shapes: list[tuple[str, tuple[Any, ...]]] = []  # how they are drawn, by the draw list's methods
        self._drawn_for: tuple[Any, ...] = ()

    def draw(self, session: Session, viewport: Rect) -> None:
        """Draw it, and post what was asked for."""
        unit = scale()
        if viewport.width < NEEDED[0] * unit or viewport.height < NEEDED[1] * unit:
            return
        side = 2 * (RADIUS + BALL + 3) * unit
        corner = ImVec2(viewport.left + viewport.width - side - MARGIN * unit, viewport.top + MARGIN * unit)
        imgui.set_next_window_pos(corner)
        imgui.set_next_window_size(ImVec2(side, side + imgui.get_frame_height()))
        imgui.push_style_var(imgui.StyleVar_.window_padding.value, ImVec2(0, 0))
        imgui.begin("##axes", None, _FLAGS)
        self._draw_balls(session, ImVec2(corner.x + side / 2, corner.y + side / 2), side)
        _draw_lens(session, corner.x, side)
        imgui.end()
        imgui.pop_style_var()

    def _draw_balls(self, session: Session, middle: ImVec2, side: float) -> None:
        imgui.invisible_button("##turn", ImVec2(side, side))
        hovered, unit = imgui.is_item_hovered(), scale()
        self._update_ends(session.camera)
        under = None
        if hovered:
            mouse = imgui.get_mouse_pos()
            under = nearest(self._ends, mouse.x - middle.x, mouse.y - middle.y, unit)
        self._follow(session, under)
        draw = imgui.get_window_draw_list()
        if hovered or imgui.is_item_active():
            draw.add_circle_filled(middle, side / 2, color(ImVec4(BAR.x, BAR.y, BAR.z, 0.45)), 64)
        for name, arguments in self._drawn(middle, under, unit):
            getattr(draw, name)(*arguments)

    def _update_ends(self, camera: OrbitCamera) -> None:
        """Find the ends, if the camera turned since the last frame."""
        rotation = camera.rotation().tobytes()
        if self._drawn_for[:1] != (rotation,):
            self._ends, self._drawn_for = ends(camera), (rotation,)

    def _drawn(self, middle: ImVec2, under: End | None, unit: float) -> list[tuple[str, tuple[Any, ...]]]:
        drawn_for = (*self._drawn_for[:1], middle.x, middle.y, under, unit)
        if self._drawn_for != drawn_for:
            self._drawn_for = drawn_for
            self._shapes = [shape for end in self._ends for shape in _shapes(middle, end, end == under)]
        return self._shapes

    def _follow(self, session: Session, under: End | None) -> None:
        if imgui.is_item_activated():
            self._turned = False
        moved = imgui.get_io().mouse_delta
        if imgui.is_item_active() and imgui.is_mouse_dragging(0, DRAG * scale()):
            if not self._turned:
                session.post(RememberView())
            self._turned = True
            session.post(Orbit(-moved.x * TURN / scale(), moved.y * TURN / scale()))
        if imgui.is_item_deactivated() and not self._turned and under is not None:
            session.post(Face(under.direction))


def nearest(found: list[End], x: float, y: float, unit: float) -> End | None:
    """The end at a pixel, relative to the middle: of several the one in front."""
    reach = 1.15 * BALL * unit
    hit = [end for end in found if math.hypot(end.x * RADIUS * unit - x, end.y * RADIUS * unit - y) <= reach]
    return hit[-1] if hit else None


def _shapes(middle: ImVec2, end: End, lit: bool) -> Iterator[tuple[str, tuple[Any, ...]]]:
    unit = scale()
    ball = ImVec2(middle.x + end.x * RADIUS * unit, middle.y + end.y * RADIUS * unit)
    tint = color(_shaded(TINTS[end.axis], end.toward))
    if end.sign > 0:
        short = 1 - BALL / RADIUS if math.hypot(end.x, end.y) * RADIUS > BALL else 0.0
        tip = ImVec2(middle.x + (ball.x - middle.x) * short, middle.y + (ball.y - middle.y) * short)
        yield "add_line", (middle, tip, tint, LINE * unit)
        yield "add_circle_filled", (ball, BALL * unit, tint, 32)
        yield "add_text", _letter(ball, NAMES[end.axis], ImVec4(0.05, 0.06, 0.08, 1.0))
    else:
        yield "add_circle_filled", (ball, HOLLOW * unit, color(_shaded(TINTS[end.axis], end.toward, 0.45)), 32)
        yield "add_circle", (ball, HOLLOW * unit, tint, 32, 1.4 * unit)
    if lit:
        ring = (BALL if end.sign > 0 else HOLLOW) * unit + 1.5 * unit
        yield "add_circle", (ball, ring, color(TEXT), 32, 1.6 * unit)


def _letter(ball: ImVec2, letter: str, tint: ImVec4) -> tuple[Any, ...]:
    with imgui_ctx.push_font(bold(), imgui.get_style().font_size_base * 0.86):
        size, height = imgui.calc_text_size(letter), imgui.get_font_size()
    corner = ImVec2(round(ball.x - size.x / 2), round(ball.y - size.y / 2))
    return bold(), height, corner, color(tint), letter


def _shaded(tint: ImVec4, toward: float, light: float = 1.0) -> ImVec4:
    """Darker the farther it points away."""
    shade = light * (1.0 - SHADE * float(np.clip(0.5 - 0.5 * toward, 0.0, 1.0)))
    return ImVec4(tint.x * shade, tint.y * shade, tint.z * shade, 1.0)


def _draw_lens(session: Session, left: float, side: float) -> None:
    """A button below the axes that shows and switches the projection."""
    parallel = session.cameras.heading.orthographic
    word = fitted("orthographic" if parallel else "perspective", side)
    size = imgui.calc_text_size(word)
    imgui.set_cursor_screen_pos(ImVec2(left + (side - size.x) / 2, imgui.get_cursor_screen_pos().y))
    if imgui.invisible_button("##lens", ImVec2(size.x, size.y + 4 * scale())):
        session.post(Parallel(not parallel))
    low, hovered = imgui.get_item_rect_min(), imgui.is_item_hovered()
    draw = imgui.get_window_draw_list()
    corner = ImVec2(round(low.x), round(low.y))
    pad, high = 6 * scale(), 2 * scale()
    box = ImVec2(corner.x - pad, corner.y - high), ImVec2(corner.x + size.x + pad, corner.y + size.y + high)
    draw.add_rect_filled(*box, color(ImVec4(BAR.x, BAR.y, BAR.z, 0.75)), 5 * scale())
    draw.add_text(corner, color(TEXT if hovered else DIM), word)
