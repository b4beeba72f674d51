"""Parallel coordinates and the scatter matrix of the runs of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from imgui_bundle import ImVec2, ImVec4, imgui, implot

from . import plots, tables
from .result_selection import Axis, ResultSelection, scaled
from .rows import color, fitted, scale
from .theme import ACCENT, DIM

MOST_LINES = 600  # drawn as lines; more would slow the window down
MOST_MATRIX = 5  # axes of the scatter matrix
REACH = 8.0  # logical pixels from the mouse within which a run is chosen
STOPS = np.array([(0.27, 0.35, 0.72), (0.30, 0.66, 0.68), (0.95, 0.85, 0.42)])  # of the metric, low to high


def draw_parallel_coordinates(selection: ResultSelection) -> int | None:
    """Draw them; returns the number of the run that was clicked."""
    axes = selection.axes
    if len(axes) < 2:
        imgui.text_disabled("parallel coordinates take two columns with several values")
        return None
    _draw_metric(selection)
    corner, room = imgui.get_cursor_screen_pos(), imgui.get_content_region_avail()
    imgui.invisible_button("##coordinates", ImVec2(max(room.x, 40.0), max(room.y, 60.0)))
    hovered, clicked = imgui.is_item_hovered(), imgui.is_item_clicked()
    margin, line = 46 * scale(), imgui.get_text_line_height()
    left, right = corner.x + margin, corner.x + room.x - margin
    top, bottom = corner.y + 2.2 * line, corner.y + room.y - 1.4 * line
    xs = np.linspace(left, right, len(axes))
    heights = np.stack([scaled(axis.values) for axis in axes], axis=1)
    ys = bottom - heights * (bottom - top)
    mouse = imgui.get_mouse_pos()
    nearest = _nearest_line(xs, ys, (mouse.x, mouse.y)) if hovered else None
    _draw_lines(selection, xs, ys, nearest)
    _draw_axes(axes, xs, (top, bottom))
    return nearest if clicked else None


def draw_scatter_matrix(selection: ResultSelection) -> int | None:
    """Draw it; returns the number of the run that was clicked."""
    names = dict.fromkeys([*selection.results.parameters[:3], selection.metric, *selection.results.outcomes])
    by_name = {axis.name: axis for axis in selection.axes}
    axes = [by_name[name] for name in names if name in by_name][:MOST_MATRIX]
    if len(axes) < 2:
        imgui.text_disabled("a scatter matrix takes two columns with several values")
        return None
    _draw_metric(selection)
    room, clicked = imgui.get_content_region_avail(), None
    width = (room.x - 4 * scale()) / len(axes)
    height = max(room.y / len(axes), 60 * scale()) - imgui.get_style().item_spacing.y
    tints, shown = _tints(selection.shares()), [run.key in selection.chosen for run in selection.results]
    for row, vertical in enumerate(axes):
        for column, horizontal in enumerate(axes):
            if column:
                imgui.same_line(0.0, 0.0)
            cell = f"matrix {row} {column}"
            found = _draw_cell(cell, (horizontal, vertical), (width, height), tints, np.array(shown, bool))
            clicked = clicked if found is None else found
    return clicked


def _draw_cell(
    name: str, axes: tuple[Axis, Axis], size: tuple[float, float], tints: np.ndarray, shown: np.ndarray
) -> int | None:
    horizontal, vertical = axes
    limits = plots.ends(horizontal.values), plots.ends(vertical.values)
    nearest = None
    with plots.plot(name, size[1], *limits, width=size[0]) as visible:
        if not visible:
            return None
        if horizontal is vertical:
            x, y = ((low + high) / 2 for low, high in limits)
            implot.plot_text(fitted(horizontal.name, size[0] - 8 * scale()), x, y)
        else:
            _scatter(horizontal.values, vertical.values, tints, 2.0)
            _scatter(horizontal.values[shown], vertical.values[shown], np.tile(_ACCENT, (shown.sum(), 1)), 4.0)
            if (point := plots.pointed_at()) is not None:
                spans = [high - low for low, high in limits]
                across = (horizontal.values - point[0]) / spans[0] * size[0]
                down = (vertical.values - point[1]) / spans[1] * size[1]
                nearest = _within_reach(np.hypot(across, down))
    return nearest if nearest is not None and imgui.is_mouse_clicked(0) else None


_ACCENT = np.array([ACCENT.x, ACCENT.y, ACCENT.z])


def _scatter(xs: np.ndarray, ys: np.ndarray, tints: np.ndarray, radius: float) -> None:
    """Points of the colors `tints`, (n, 3), in groups of one color."""
    for tint in np.unique(tints, axis=0):
        chosen = (tints == tint).all(axis=1)
        spec = implot.Spec()
        spec.marker, spec.marker_size = implot.Marker_.circle.value, radius * scale()
        spec.marker_fill_color = spec.marker_line_color = _opaque(tint, 0.9)
        points = np.ascontiguousarray(xs[chosen]), np.ascontiguousarray(ys[chosen])
        implot.plot_scatter(f"##{tint}", *points, spec=spec)


def _draw_metric(selection: ResultSelection) -> None:
    """The outcome by which runs are colored, with the colors from low to high."""
    outcomes = list(selection.results.outcomes)
    if not outcomes:
        return
    imgui.set_next_item_width(220 * scale())
    current = outcomes.index(selection.metric) if selection.metric in outcomes else 0
    changed, chosen = imgui.combo("##metric", current, outcomes)
    if changed:
        selection.metric = outcomes[chosen]
    imgui.set_item_tooltip("the outcome that colors the runs, from blue, low, to yellow, high")


def _draw_lines(selection: ResultSelection, xs: np.ndarray, ys: np.ndarray, nearest: int | None) -> None:
    draw, tints = imgui.get_window_draw_list(), _tints(selection.shares())
    chosen = {number for number, run in enumerate(selection.results) if run.key in selection.chosen}
    marked = chosen | ({nearest} if nearest is not None else set())
    for number in [*range(min(len(ys), MOST_LINES)), *marked]:
        finite = np.isfinite(ys[number])
        points: list[Any] = [
            ImVec2(x, y) for x, y in zip(xs[finite].tolist(), ys[number][finite].tolist(), strict=True)
        ]
        tint = ACCENT if number in chosen else _opaque(tints[number], 1.0 if number in marked else 0.55)
        draw.add_polyline(points, color(tint), (2.6 if number in marked else 1.2) * scale(), 0)
    if len(ys) > MOST_LINES:
        imgui.same_line()
        imgui.text_colored(DIM, f"{MOST_LINES} of {len(ys):,} runs are drawn")


def _draw_axes(axes: Sequence[Axis], xs: np.ndarray, ends: tuple[float, float]) -> None:
    draw, line, (top, bottom) = imgui.get_window_draw_list(), imgui.get_text_line_height(), ends
    for axis, x in zip(axes, xs.tolist(), strict=True):
        draw.add_line(ImVec2(x, top), ImVec2(x, bottom), color(DIM), scale())
        low, high = np.nanmin(axis.values), np.nanmax(axis.values)
        texts = (
            (axis.labels[-1], axis.labels[0])
            if axis.labels
            else (tables.number(float(high)), tables.number(float(low)))
        )
        spacing = (xs[1] - xs[0]) - 6 * scale()
        title = fitted(axis.name, float(spacing))
        words = (title, top - 2.1 * line, ACCENT), (texts[0], top - 1.1 * line, DIM), (texts[1], bottom, DIM)
        for text, y, tint in words:
            draw.add_text(ImVec2(x - imgui.calc_text_size(text).x / 2, y), color(tint), text)


def _nearest_line(xs: np.ndarray, ys: np.ndarray, mouse: tuple[float, float]) -> int | None:
    """The run whose line is nearest to the mouse, measured vertically."""
    segment = int(np.clip(np.searchsorted(xs, mouse[0]) - 1, 0, len(xs) - 2))
    share = np.clip((mouse[0] - xs[segment]) / (xs[segment + 1] - xs[segment]), 0.0, 1.0)
    there = ys[:, segment] * (1.0 - share) + ys[:, segment + 1] * share
    return _within_reach(np.abs(there - mouse[1]))


def _within_reach(distances: np.ndarray) -> int | None:
    if not np.isfinite(distances).any():
        return None
    nearest = int(np.nanargmin(distances))
    return nearest if distances[nearest] <= REACH * scale() else None


def _tints(shares: np.ndarray) -> np.ndarray:
    """Colors (n, 3) of the metric in 16 steps; gray where there is none."""
    steps = np.round(np.nan_to_num(shares) * 15) / 15
    mixed = np.stack([np.interp(steps, (0.0, 0.5, 1.0), STOPS[:, channel]) for channel in range(3)], axis=1)
    return np.where(np.isfinite(shares)[:, None], mixed, 0.45)


def _opaque(tint: np.ndarray, alpha: float) -> ImVec4:
    """A color of three components with an alpha."""
    red, green, blue = tint.tolist()
    return ImVec4(red, green, blue, alpha)
