"""Plots in the style of the panels: thin lines over a faint grid, no frames; and ImPlot's context."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from imgui_bundle import ImVec2, ImVec4, imgui, implot

from .rows import scale
from .theme import ACCENT, CLEAR, DIM

SMALL = 0.87  # size of the numbers at the axes, of the font's
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
_AXIS = implot.AxisFlags_.no_highlight | implot.AxisFlags_.no_menus
_AXIS |= implot.AxisFlags_.no_side_switch | implot.AxisFlags_.no_tick_marks
_BARE = _AXIS | implot.AxisFlags_.no_decorations
_ALWAYS = implot.Cond_.always.value
_X, _Y = implot.ImAxis_.x1.value, implot.ImAxis_.y1.value
_ZOOMED, _HOVERED = 1, 2  # of a plot in its window's storage: the user chose the limits; the mouse was over it


def create_context() -> Any:
    """ImPlot's context for ImGui's current one, in our style, as the current one."""
    context = implot.create_context()
    implot.set_current_context(context)
    keys = implot.get_input_map()
    keys.zoom_mod = imgui.Key.mod_ctrl.value  # the wheel alone scrolls the panel
    keys.override_mod = imgui.Key.mod_super.value  # switches the plot's input off; it is Ctrl otherwise
    style = implot.get_style()
    style.use_iso8601 = True
    for index, tint in (
        (implot.Col_.frame_bg, CLEAR),
        (implot.Col_.plot_bg, ImVec4(0.0, 0.0, 0.0, 0.16)),
        (implot.Col_.plot_border, CLEAR),
        (implot.Col_.axis_text, DIM),
        (implot.Col_.axis_grid, ImVec4(1.0, 1.0, 1.0, 0.07)),
        (implot.Col_.axis_bg_hovered, CLEAR),
        (implot.Col_.axis_bg_active, CLEAR),
    ):
        style.set_color_(index.value, tint)
    style.minor_alpha = 0.0
    return context


@contextmanager
def plot(
    name: str,
    height: float,
    x_limits: tuple[float, float],
    y_limits: tuple[float, float],
    *,
    width: float = -1.0,
    x_unit: str | None = None,
    y_unit: str | None = None,
    legend: bool = False,
    log: bool = False,
) -> Iterator[bool]:
    """A plot of `height` pixels; whether it is visible. An axis has numbers if its unit is given, which may be "".

    With `log` y is logarithmic. Ctrl and the wheel zoom, a drag pans; then the limits stay as they are until a double
    click.
    """
    imgui.push_font(None, imgui.get_style().font_size_base * SMALL)
    letters = imgui.get_font_size()
    padding = 0.0 if y_unit is None else 0.5 * letters
    implot.push_style_var(implot.StyleVar_.plot_padding.value, ImVec2(2.0 * scale(), padding))
    implot.push_style_var(implot.StyleVar_.label_padding.value, ImVec2(4.0 * scale(), 3.0 * scale()))
    implot.push_style_var(implot.StyleVar_.plot_min_size.value, ImVec2(20.0, 20.0))
    state = 0
    key, storage = imgui.get_id(f"##{name}"), imgui.get_state_storage()
    flags = _FLAGS & ~(implot.Flags_.no_legend.value if legend else 0)
    visible = implot.begin_plot(f"##{name}", ImVec2(width, height), flags)
    if visible:
        for axis, unit in ((_X, x_unit), (_Y, y_unit)):
            implot.setup_axis(axis, None, _BARE if unit is None else _AXIS)
            if unit:
                implot.setup_axis_format(axis, f"%g {unit}")
        if log:
            implot.setup_axis_scale(_Y, implot.Scale_.log10.value)
        if legend:
            implot.setup_legend(implot.Location_.north_west.value)
        state = _zoomed(storage.get_int(key))
        if not state & _ZOOMED:
            implot.setup_axes_limits(*_distinct(x_limits), *_distinct(y_limits), _ALWAYS)
    yield visible
    if visible:
        storage.set_int(key, state & _ZOOMED | _HOVERED * implot.is_plot_hovered())
        implot.end_plot()
    implot.pop_style_var(3)
    imgui.pop_font()


def _zoomed(state: int) -> int:
    """The state of a plot after this frame's input: until the user zooms, the program's limits are locked."""
    io = imgui.get_io()
    if state & _HOVERED and imgui.is_mouse_double_clicked(0):
        return _HOVERED
    zooms = (io.key_ctrl and io.mouse_wheel) or imgui.is_mouse_dragging(0)
    return state | _ZOOMED if state & _HOVERED and zooms else state


def line(name: str, values: np.ndarray, tint: ImVec4, *, start: float = 0.0, step: float = 1.0) -> None:
    """A line through `values`, float64, the first at `start`; gaps where they are NaN."""
    if len(values):
        implot.plot_line(name, values, step, start, spec=_spec(tint))


def curve(name: str, xs: np.ndarray, ys: np.ndarray, tint: ImVec4) -> None:
    """A line through points, float64; gaps where they are NaN."""
    if len(xs):
        implot.plot_line(name, xs, ys, spec=_spec(tint))


def filled(name: str, values: np.ndarray, tint: ImVec4, *, start: float = 0.0) -> None:
    """The area between `values`, float64, and 0, under a line."""
    if len(values):
        implot.plot_shaded(name, values, 0.0, 1.0, start, spec=_spec(tint, 0.18))
        line(name, values, tint, start=start)


def bars(name: str, heights: np.ndarray, tint: ImVec4) -> None:
    """Bars next to each other at 0.5, 1.5, 2.5 and so on."""
    implot.plot_bars(name, heights, 0.9, 0.5, spec=_spec(tint, 0.75))


def level(name: str, value: float, tint: ImVec4) -> None:
    """A line all across the plot."""
    spec = _spec(tint)
    spec.flags = implot.InfLinesFlags_.horizontal.value
    implot.plot_inf_lines(name, np.array([value]), spec=spec)


def pointed_at() -> tuple[float, float] | None:
    """The coordinates under the mouse, if it is over the plot."""
    if not implot.is_plot_hovered():
        return None
    point = implot.get_plot_mouse_pos()
    return point.x, point.y


def ends(values: Sequence[float] | np.ndarray, from_zero: bool = False) -> tuple[float, float]:
    """Ends of an axis for these values, with some room; those that are not finite do not count."""
    array = np.asarray(values, float)
    array = array[np.isfinite(array)]
    if not array.size:
        return 0.0, 1.0
    low, high = (0.0 if from_zero else float(array.min())), float(array.max())
    room = (high - low) * PADDING or abs(high) * PADDING or 1.0
    return (low if from_zero else low - room), high + room


def log_ends(values: np.ndarray) -> tuple[float, float]:
    """Ends of a logarithmic axis for these values; those that are not positive and finite do not count."""
    found = values[np.isfinite(values) & (values > 0.0)]
    if not found.size:
        return 0.1, 1.0
    room = max((float(found.max()) / float(found.min())) ** PADDING, 1.1)
    return float(found.min()) / room, float(found.max()) * room


def nice_above(value: float) -> float:
    """The next of 1, 2, 5, 10, 20, … from `value` on: an axis that ends there changes seldom."""
    if not value > 0.0 or not math.isfinite(value):
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= value * (1.0 - 1e-9))


def _distinct(pair: tuple[float, float]) -> tuple[float, float]:
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
