"""The contact sheet of a sweep, in the window."""

from __future__ import annotations

from imgui_bundle import ImVec2, ImVec4, imgui

from ..results import Run
from ..results.arrangement import text
from .result_selection import ResultSelection
from .rows import color, fitted, scale
from .theme import ACCENT, BAD, DIM, FIELD
from .thumbnails import Thumbnails

TILE, LEAST = 150.0, 48.0  # widest and narrowest image, in logical pixels
SHAPE = 9 / 16  # height of an image relative to its width


def draw_contact_sheet(thumbnails: Thumbnails, selection: ResultSelection) -> int | None:
    """Draw it; returns the number of the run that was clicked. An image is loaded in each frame."""
    if not any("image" in run.files for run in selection.results):
        imgui.text_disabled("these runs have no images: add --outcome image to the sweep")
        return None
    found, clicked = selection.arrangement, None
    rows, columns = found.shape
    gap, labels = 4 * scale(), 64 * scale() if found.rows and found.axes[1] else 0.0
    imgui.begin_child("##sheet", ImVec2(0.0, 0.0), 0, imgui.WindowFlags_.horizontal_scrollbar.value)
    width = (imgui.get_content_region_avail().x - labels) / columns - gap
    width = round(min(max(width, LEAST * scale()), TILE * scale()))
    size = width, round(width * SHAPE)
    thumbnails.resize(size)
    _draw_columns(found.columns, found.axes, labels, width, gap)
    may_load = True
    for row in range(rows):
        if labels:
            imgui.set_cursor_pos_x(0.0)
            imgui.begin_group()
            imgui.dummy(ImVec2(labels - gap, 0.0))
            imgui.text_colored(DIM, fitted(found.rows[row], labels - gap))
            imgui.end_group()
            imgui.same_line(labels)
        for column in range(columns):
            if column:
                imgui.same_line(0.0, gap)
            number = found.cells.get((row, column))
            if number is None:
                imgui.dummy(ImVec2(*size))
                continue
            run = selection.results[number]
            may_load, pressed = _draw_tile(thumbnails, selection, run, size, may_load)
            clicked = number if pressed else clicked
    imgui.end_child()
    return clicked


def _draw_columns(labels: tuple[str, ...], axes: tuple[str, str], left: float, width: float, gap: float) -> None:
    if not labels:
        return
    imgui.text_colored(DIM, f"{axes[0]} →" + (f"   {axes[1]} ↓" if axes[1] else ""))
    for column, label in enumerate(labels):
        imgui.set_cursor_pos_x(left + column * (width + gap))
        imgui.text_colored(DIM, fitted(label, width))
        if column < len(labels) - 1:
            imgui.same_line()


def _draw_tile(
    thumbnails: Thumbnails, selection: ResultSelection, run: Run, size: tuple[int, int], may_load: bool
) -> tuple[bool, bool]:
    """Returns whether an image may still be loaded in this frame, and whether the tile was clicked."""
    low = imgui.get_cursor_screen_pos()
    high = ImVec2(low.x + size[0], low.y + size[1])
    pressed = imgui.invisible_button(f"##{run.key}", ImVec2(*size))
    if not imgui.is_item_visible():
        return may_load, pressed
    imgui.set_item_tooltip(caption(run))
    may_load = draw_image(thumbnails, selection, run, (low, high), may_load)
    if run.key in selection.chosen or imgui.is_item_hovered():
        imgui.get_window_draw_list().add_rect(low, high, color(ACCENT), 0.0, 2.0 * scale())
    return may_load, pressed


def draw_image(
    thumbnails: Thumbnails, selection: ResultSelection, run: Run, box: tuple[ImVec2, ImVec2], may_load: bool
) -> bool:
    """Draw the image of a run into a box; returns whether an image may still be loaded in this frame."""
    draw, (low, high) = imgui.get_window_draw_list(), box
    draw.add_rect_filled(low, high, color(FIELD))
    if "image" not in run.files:
        draw.add_text(ImVec2(low.x + 4, low.y + 4), color(BAD), fitted(run.state, high.x - low.x - 8))
        return may_load
    file = selection.folder / run.files["image"]
    known, texture = thumbnails.knows(file), thumbnails.of(file, may_load)
    if texture is not None:
        draw.add_image(texture, low, high, ImVec2(0, 0), ImVec2(1, 1), color(ImVec4(1.0, 1.0, 1.0, 1.0)))
    return may_load and known


def caption(run: Run) -> str:
    """The values of a run, and its error."""
    lines = [f"{name} = {text(value)}" for name, value in run.values.items()]
    return "\n".join([*lines, f"seed {run.seed}", *([run.error] if run.error else [])])
