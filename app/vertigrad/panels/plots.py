"""Plots in the look of the panels: thin lines over a faint grid, no frames; and the context that ImPlot keeps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from imgui_bundle import ImVec2, ImVec4, imgui, implot

from .look import ACCENT, CLEAR, DIM
from .rows import color, scale

SMALL = 0.87  # size of the numbers at the axes, of the font's
TICK = 3.2  # their distance, in heights of a letter
PADDING = 0.08  # of the values' range, above and below
SERIES = (
    ACCENT,
    ImVec4(0.42, 0.69, 0.93, 1.0),
    ImVec4(0.50, 0.80, 0.58, 1.0),
    ImVec4(0.85, 0.56, 0.78, 1.0),
    ImVec4(0.62, 0.66, 0.72, 1.0),
    ImVec4(0.93, 0.84, 0.45, 1.0),
)
_FLAGS = implot.Flags_.canvas_only.value | implot.Flags_.no_frame.value
_AXIS = implot.AxisFlags_.no_highlight | implot.AxisFlags_.no_menus | implot.AxisFlags_.lock
_AXIS |= implot.AxisFlags_.no_side_switch | implot.AxisFlags_.no_tick_marks
_BARE = _AXIS | implot.AxisFlags_.no_decorations
_ALWAYS = implot.Cond_.always.value
_X, _Y = implot.ImAxis_.x1.value, implot.ImAxis_.y1.value


def create_context() -> Any:
    """ImPlot's context for ImGui's current one, in our look. `use` it when ImGui's changes, and `destroy` it first."""
    context = implot.create_context()
    use(context)
    style = implot.get_style()
    style.use_iso8601 = True
    for place, tint in (
        (implot.Col_.frame_bg, CLEAR),
        (implot.Col_.plot_bg, ImVec4(0.0, 0.0, 0.0, 0.16)),
        (implot.Col_.plot_border, CLEAR),
        (implot.Col_.axis_text, DIM),
        (implot.Col_.axis_grid, ImVec4(1.0, 1.0, 1.0, 0.07)),
        (implot.Col_.axis_bg_hovered, CLEAR),
        (implot.Col_.axis_bg_active, CLEAR),
    ):
        style.set_color_(place.value, tint)
    style.minor_alpha = 0.0
    return context


def use(context: Any) -> None:
    """Plot into this context from now on."""
    implot.set_current_context(context)


def destroy(context: Any) -> None:
    """Give the context up."""
    implot.destroy_context(context)


@contextmanager
def plot(
    name: str,
    height: float,
    across: tuple[float, float],
    up: tuple[float, float],
    *,
    width: float = -1.0,
    unit: str = "",
    axes: bool = True,
    x_axis: bool = False,
) -> Iterator[bool]:
    """A plot of `height` pixels with axes from `across[0]` to `across[1]` and `up[0]` to `up[1]`; whether it is seen.

    `unit` follows the numbers at the upright axis.
    """
    imgui.push_font(None, imgui.get_style().font_size_base * SMALL)
    letters = imgui.get_font_size()
    implot.push_style_var(implot.StyleVar_.plot_padding.value, ImVec2(2.0 * scale(), 0.5 * letters if axes else 0.0))
    implot.push_style_var(implot.StyleVar_.label_padding.value, ImVec2(4.0 * scale(), 3.0 * scale()))
    implot.push_style_var(implot.StyleVar_.plot_min_size.value, ImVec2(20.0, 20.0))
    seen = implot.begin_plot(f"##{name}", ImVec2(width, height), _FLAGS)
    if seen:
        implot.setup_axis(_X, None, (_AXIS if x_axis else _BARE))
        implot.setup_axis(_Y, None, (_AXIS if axes else _BARE))
        implot.setup_axes_limits(*_apart(across), *_apart(up), _ALWAYS)
        if axes:
            places = ticks(up, max(2, int(height / (TICK * letters))))
            implot.setup_axis_ticks(_Y, places, [f"{place:g} {unit}".rstrip() for place in places])
    yield seen
    if seen:
        implot.end_plot()
    implot.pop_style_var(3)
    imgui.pop_font()


def line(name: str, values: np.ndarray, tint: ImVec4, *, start: float = 0.0, step: float = 1.0) -> None:
    """A line through `values`, float64, the first at `start`; gaps where they are NaN."""
    if len(values):
        implot.plot_line(f"##{name}", values, step, start, spec=_spec(tint))


def curve(name: str, xs: np.ndarray, ys: np.ndarray, tint: ImVec4) -> None:
    """A line through points, float64; gaps where they are NaN."""
    if len(xs):
        implot.plot_line(f"##{name}", xs, ys, spec=_spec(tint))


def filled(name: str, values: np.ndarray, tint: ImVec4, *, start: float = 0.0, step: float = 1.0) -> None:
    """The area between `values`, float64, and 0, under a line."""
    if len(values):
        implot.plot_shaded(f"##{name} area", values, 0.0, step, start, spec=_spec(tint, 0.18))
        line(name, values, tint, start=start, step=step)


def bars(name: str, heights: np.ndarray, tint: ImVec4) -> None:
    """Bars beside each other at 0.5, 1.5, 2.5 and so on."""
    implot.plot_bars(f"##{name}", heights, 0.9, 0.5, spec=_spec(tint, 0.75))


def level(name: str, value: float, tint: ImVec4) -> None:
    """A line all across the plot."""
    spec = _spec(tint)
    spec.flags = implot.InfLinesFlags_.horizontal.value
    implot.plot_inf_lines(f"##{name}", np.array([value]), spec=spec)


def write_ends(low: str, high: str) -> None:
    """The least and the greatest value, small, in the left corners of the plot drawn last."""
    corner, far = imgui.get_item_rect_min(), imgui.get_item_rect_max()
    imgui.push_font(None, imgui.get_style().font_size_base * SMALL)
    draw, inset = imgui.get_window_draw_list(), 5.0 * scale()
    draw.add_text(ImVec2(corner.x + inset, corner.y + 2.0 * scale()), color(DIM), high)
    if low != high:
        draw.add_text(ImVec2(corner.x + inset, far.y - imgui.get_font_size() - 3.0 * scale()), color(DIM), low)
    imgui.pop_font()


def write_span(text: str) -> None:
    """What the axis across spans, small, in the lower right corner of the plot drawn last."""
    far = imgui.get_item_rect_max()
    imgui.push_font(None, imgui.get_style().font_size_base * SMALL)
    width, inset = imgui.calc_text_size(text).x, 5.0 * scale()
    place = ImVec2(far.x - width - inset, far.y - imgui.get_font_size() - 3.0 * scale())
    imgui.get_window_draw_list().add_text(place, color(DIM), text)
    imgui.pop_font()


def pointed_at() -> tuple[float, float] | None:
    """Where the mouse is in the plot, if it is."""
    if not implot.is_plot_hovered():
        return None
    place = implot.get_plot_mouse_pos()
    return place.x, place.y


def ends(values: Sequence[float] | np.ndarray, from_zero: bool = False) -> tuple[float, float]:
    """Ends of an axis for these values, with some room; those that are not finite do not count."""
    array = np.asarray(values, float)
    array = array[np.isfinite(array)]
    if not array.size:
        return 0.0, 1.0
    low, high = (0.0 if from_zero else float(array.min())), float(array.max())
    room = (high - low) * PADDING or abs(high) * PADDING or 1.0
    return (low if from_zero else low - room), high + room


def ticks(ends_: tuple[float, float], most: int) -> list[float]:
    """About so many round numbers between two ends, evenly apart; two at least."""
    low, high = _apart(ends_)
    span = high - low
    found: list[float] = []
    for step in (nice_above(span / most), nice_above(span / most / 2.1), nice_above(span / most / 4.2)):
        first = math.ceil(low / step - 1e-9)
        found = [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]
        if len(found) > 1:
            break
    return found


def nice_above(value: float) -> float:
    """The next of 1, 2, 5, 10, 20, … from `value` on: an axis that ends there changes seldom."""
    if not value > 0.0 or not math.isfinite(value):
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= value * (1.0 - 1e-9))


def _apart(pair: tuple[float, float]) -> tuple[float, float]:
    """Ends that differ, as an axis must have them."""
    low, high = pair
    if math.isfinite(low) and math.isfinite(high) and high - low > 1e-9 * max(abs(low), abs(high)):
        return low, high
    middle = low if math.isfinite(low) else 0.0
    return middle - max(1.0, abs(middle)) * 1e-3, middle + max(1.0, abs(middle)) * 1e-3


def _spec(tint: ImVec4, fill: float = 0.0) -> implot.Spec:
    spec = implot.Spec()
    spec.line_color, spec.line_weight = tint, 1.25 * scale()
    if fill:
        spec.fill_color, spec.fill_alpha, spec.line_weight = tint, fill, 0.0
    return spec
