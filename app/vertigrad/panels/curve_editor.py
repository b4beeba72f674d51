"""A curve that is edited with the mouse: opacity over a colormap, as a transfer function."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from imgui_bundle import ImVec2, ImVec4, imgui

from ..params import Params
from ..params.curve import MOST_POINTS, Points, curve_text, parse_curve
from ..renderer.colormap import colormap_colors
from .rows import color, scale
from .theme import ACCENT, DIM, TEXT

HEIGHT, STRIP, RADIUS, REACH = (
    96.0,
    10.0,
    4.0,
    11.0,
)  # in logical pixels: all, the colormap, points, and how near they are met
PARTS = 15  # of the colormap
GAP = 1e-3  # between points along x
HELP = "drag points; click elsewhere: a new point; right click or double click: remove one"


def edit_curve(text: str, style: Params | None) -> tuple[bool, str]:
    """Draw the curve over the colormap of `style`, if it has one; whether it was changed, and its text."""
    unit, width = scale(), imgui.calc_item_width()
    low = imgui.get_cursor_screen_pos()
    imgui.invisible_button("##curve", ImVec2(width, HEIGHT * unit), _BUTTONS)
    plot = _Plot(low, width, (HEIGHT - STRIP) * unit, RADIUS * unit)
    points = parse_curve(text)
    new = _edited(points, plot, REACH * unit)
    _draw(plot, new, style, unit)
    if imgui.is_item_hovered() and not imgui.is_item_active():
        imgui.set_item_tooltip(HELP)
    return (True, curve_text(new)) if new != points else (False, text)


class _Plot:
    """Where the curve is on the screen."""

    def __init__(self, low: ImVec2, width: float, height: float, margin: float):
        self.low, self.width, self.height, self.margin = low, width, height, margin

    def pixel(self, point: tuple[float, float]) -> ImVec2:
        """Of a point of the curve."""
        inner = self.width - 2 * self.margin, self.height - 2 * self.margin
        return ImVec2(
            self.low.x + self.margin + point[0] * inner[0], self.low.y + self.margin + (1 - point[1]) * inner[1]
        )

    def point(self, at: ImVec2) -> tuple[float, float]:
        """Of the curve, at a pixel."""
        x = (at.x - self.low.x - self.margin) / max(self.width - 2 * self.margin, 1.0)
        y = 1.0 - (at.y - self.low.y - self.margin) / max(self.height - 2 * self.margin, 1.0)
        return min(max(x, 0.0), 1.0), min(max(y, 0.0), 1.0)


def _edited(points: Points, plot: _Plot, reach: float) -> Points:
    """The points after this frame's clicks and drags. The one that is dragged is remembered by ImGui."""
    storage, key, mouse = imgui.get_state_storage(), imgui.get_id("dragged"), imgui.get_mouse_pos()
    near = _nearest(points, plot, mouse, reach)
    removes = imgui.is_mouse_clicked(1) or imgui.is_mouse_double_clicked(0)
    if imgui.is_item_hovered() and removes and near > 0 and near < len(points) - 1:
        storage.set_int(key, -1)
        return points[:near] + points[near + 1 :]
    if imgui.is_item_activated() and imgui.is_mouse_down(0):
        if near < 0 and len(points) < MOST_POINTS:
            points, near = _with_point(points, plot.point(mouse))
        storage.set_int(key, near)
    dragged = storage.get_int(key, -1)
    if not imgui.is_item_active() or not 0 <= dragged < len(points) or not imgui.is_mouse_down(0):
        return points
    return _moved(points, dragged, plot.point(mouse))


def _nearest(points: Points, plot: _Plot, mouse: ImVec2, reach: float) -> int:
    """The point under the mouse; -1 if there is none."""
    pixels = [plot.pixel(point) for point in points]
    away = [max(abs(pixel.x - mouse.x), abs(pixel.y - mouse.y)) for pixel in pixels]
    best = min(range(len(points)), key=away.__getitem__)
    return best if away[best] <= reach else -1


def _with_point(points: Points, new: tuple[float, float]) -> tuple[Points, int]:
    index = next(number for number, point in enumerate(points) if point[0] > new[0] or number == len(points) - 1)
    return (*points[:index], new, *points[index:]), index


def _moved(points: Points, index: int, to: tuple[float, float]) -> Points:
    """The curve with a point elsewhere: between its neighbors; the outer ones go up and down only."""
    low = points[index - 1][0] + GAP if index > 0 else 0.0
    high = points[index + 1][0] - GAP if index < len(points) - 1 else 1.0
    x = 0.0 if index == 0 else 1.0 if index == len(points) - 1 else min(max(to[0], low), max(low, high))
    x, y = round(x, 3), round(to[1], 3)
    return points if (x, y) == points[index] else (*points[:index], (x, y), *points[index + 1 :])


def _draw(plot: _Plot, points: Points, style: Any, unit: float) -> None:
    drawn = imgui.get_window_draw_list()
    low, right, bottom = plot.low, plot.low.x + plot.width, plot.low.y + plot.height
    drawn.add_rect_filled(low, ImVec2(right, bottom), imgui.get_color_u32(imgui.Col_.frame_bg.value), 3 * unit)
    pixels = [plot.pixel(point) for point in points]
    for a, b in pairwise(pixels):
        fill = imgui.get_color_u32(ImVec4(ACCENT.x, ACCENT.y, ACCENT.z, 0.22))
        drawn.add_quad_filled(a, b, ImVec2(b.x, bottom), ImVec2(a.x, bottom), fill)
        drawn.add_line(a, b, color(ACCENT), 1.6 * unit)
    for pixel in pixels:
        drawn.add_circle_filled(pixel, RADIUS * unit, color(TEXT))
    if hasattr(style, "colormap"):
        _draw_strip(drawn, ImVec2(low.x, bottom), plot.width, STRIP * unit, style)
    drawn.add_rect(low, ImVec2(right, bottom), color(DIM), 3 * unit)


def _draw_strip(drawn: Any, at: ImVec2, width: float, height: float, style: Any) -> None:
    """The colormap, as a row of rectangles that change from one color to the next."""
    colors = colormap_colors(style.colormap, style.colormap_flip)[:: 255 // PARTS, :3] / 255.0
    inks = [imgui.get_color_u32(ImVec4(float(r), float(g), float(b), 1.0)) for r, g, b in colors]
    for number, (a, b) in enumerate(pairwise(inks)):
        left, right = (at.x + width * part / (len(inks) - 1) for part in (number, number + 1))
        low, high = ImVec2(left, at.y), ImVec2(right, at.y + height)
        drawn.add_rect_filled_multi_color(low, high, a, b, b, a)


_BUTTONS = imgui.ButtonFlags_.mouse_button_left.value | imgui.ButtonFlags_.mouse_button_right.value
