"""A slider drawn as a bar that is filled up to its value, with the value written on it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

from imgui_bundle import ImVec2, imgui

from .rows import color, scale
from .theme import ACCENT, CLEAR, FIELD, FILL, OVER

INSET = 2.0  # pixels that ImGui leaves free at both ends of a slider
LINE = 2.0  # height of the line along the filled part, in logical pixels
_ROUND_LEFT = imgui.ImDrawFlags_.round_left.value
_BEHIND = (imgui.Col_.frame_bg.value,)
_ALL = (*_BEHIND, imgui.Col_.slider_grab.value, imgui.Col_.slider_grab_active.value)
_HELD = imgui.Col_.frame_bg_hovered.value, imgui.Col_.frame_bg_active.value
LARGEST_FLOAT, LARGEST_INT = 1e37, (1 << 30) - 1  # ends of a slider as far as ImGui takes them


def slide_number(value: float, ends: tuple[float, float], text: str, log: bool) -> tuple[bool, float]:
    """A slider for a float; `text` is how C's printf writes the value. Ctrl and a click let the user type it."""
    low, high = (min(max(end, -LARGEST_FLOAT), LARGEST_FLOAT) for end in ends)
    flags = imgui.SliderFlags_.logarithmic.value if log else imgui.SliderFlags_.none.value
    with _bar(filled_fraction(value, low, high, log), imgui.get_style().grab_min_size):
        return imgui.slider_float("##value", value, low, high, text, flags)


def slide_integer(value: int, ends: tuple[int, int], text: str, log: bool) -> tuple[bool, int]:
    """A slider for an integer of at most `LARGEST_INT`."""
    low, high = (min(max(end, -LARGEST_INT), LARGEST_INT) for end in ends)
    flags = imgui.SliderFlags_.logarithmic.value if log else imgui.SliderFlags_.none.value
    grab = max(imgui.get_style().grab_min_size, (imgui.calc_item_width() - 2 * INSET) / max(high - low + 1, 1))
    with _bar(filled_fraction(value, low, high, log), grab):
        return imgui.slider_int("##value", value, low, high, text, flags)


def filled_fraction(value: float, low: float, high: float, log: bool) -> float | None:
    """The position of a value along the slider, from 0 to 1; None where ImGui's own rule is not a simple one."""
    if not low < high or (log and low <= 0.0) or math.isnan(value):
        return None
    value = min(max(value, low), high)
    if log:
        return math.log(value / low) / math.log(high / low)
    return (value - low) / (high - low)


@contextmanager
def _bar(filled: float | None, grab: float) -> Iterator[None]:
    """Draws the bar behind ImGui's slider, which is left with nothing but the text."""
    corner, width, height = imgui.get_cursor_screen_pos(), imgui.calc_item_width(), imgui.get_frame_height()
    far, rounding = ImVec2(corner.x + width, corner.y + height), imgui.get_style().frame_rounding
    draw = imgui.get_window_draw_list()
    draw.add_rect_filled(corner, far, color(FIELD), rounding)
    if filled is not None:
        end = corner.x + INSET + grab / 2 + filled * (width - 2 * INSET - grab)
        draw.add_rect_filled(corner, ImVec2(end, far.y), color(FILL), rounding, _ROUND_LEFT)
        line = ImVec2(corner.x + rounding / 2, far.y - LINE * scale())
        draw.add_rect_filled(line, ImVec2(max(end, line.x), far.y), color(ACCENT))
    hidden = _BEHIND if filled is None else _ALL
    for index in hidden:
        imgui.push_style_color(index, CLEAR)
    for index in _HELD:
        imgui.push_style_color(index, OVER)
    yield
    imgui.pop_style_color(len(hidden) + len(_HELD))
