"""Rows: a label at the left, a value or a widget at the right, aligned over all panels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from imgui_bundle import ImVec2, ImVec4, imgui

from .look import ACCENT, DIM, TEXT

LABEL_SHARES = 0.36, 0.48  # of a row's width: the least and the most that labels take
MARK = 9.0  # width of the gap at a row's left in which a changed value is marked, in logical pixels
TOOLTIP_WIDTH = 300.0


def scale() -> float:
    """Pixels to a logical pixel."""
    return imgui.get_style().font_scale_dpi


@contextmanager
def labelled(label: str, tooltip: str = "", room: float = 0.0) -> Iterator[None]:
    """A row whose widget, drawn inside, fills what the label leaves; both show the tooltip.

    The widgets of rows that are given the same `room`, the width of their widest label, begin below each other.
    """
    left, width, gap = imgui.get_cursor_pos_x(), imgui.get_content_region_avail().x, 8 * scale()
    least, most = LABEL_SHARES
    column = min(max(room + gap, least * width), most * width)
    imgui.align_text_to_frame_padding()
    imgui.text_colored(DIM, fitted(label, column - gap))
    _explain(tooltip)
    imgui.same_line(left + column)
    imgui.set_next_item_width(width - column)
    imgui.begin_group()
    yield
    imgui.end_group()
    _explain(tooltip)


def changed_mark(shown: bool, tooltip: str) -> bool:
    """At the beginning of a row: a dot if its value was changed; returns whether it was clicked."""
    corner, size = imgui.get_cursor_screen_pos(), ImVec2(MARK * scale(), imgui.get_frame_height())
    clicked = False
    if shown:
        clicked = imgui.invisible_button("##changed", size)
        radius = (3.6 if imgui.is_item_hovered() else 2.4) * scale()
        center = ImVec2(corner.x + 2.6 * scale(), corner.y + size.y / 2)
        imgui.get_window_draw_list().add_circle_filled(center, radius, color(ACCENT))
        _explain(tooltip)
    else:
        imgui.dummy(size)
    imgui.same_line(0.0, 0.0)
    return clicked


def fact(label: str, value: str, tint: ImVec4 = TEXT, tooltip: str = "") -> None:
    """A row that only tells: the value at its right end."""
    left, width = imgui.get_cursor_pos_x(), imgui.get_content_region_avail().x
    taken = imgui.calc_text_size(value).x
    imgui.text_colored(DIM, fitted(label, width - taken - 8 * scale()))
    _explain(tooltip)
    imgui.same_line(left + max(width - taken, 0.0))
    imgui.text_colored(tint, value)


def section(label: str, note: str = "", opened: bool = True) -> bool:
    """A heading that opens and closes what follows; `note` stands at its right end."""
    flags = imgui.TreeNodeFlags_.default_open if opened else imgui.TreeNodeFlags_.none
    right = imgui.get_cursor_screen_pos().x + imgui.get_content_region_avail().x
    is_open = imgui.collapsing_header(label, flags.value)
    low, high, size = imgui.get_item_rect_min(), imgui.get_item_rect_max(), imgui.calc_text_size(note)
    if note and low.x + imgui.calc_text_size(label, True).x + 40 * scale() < right - size.x:
        place = ImVec2(right - size.x, (low.y + high.y - size.y) / 2)
        imgui.get_window_draw_list().add_text(place, color(DIM), note)
    return is_open


def color(value: ImVec4) -> int:
    """As draw lists take it."""
    return imgui.color_convert_float4_to_u32(value)


def fitted(text: str, width: float) -> str:
    """The text, or as much of its beginning as `width` has room for, with an ellipsis."""
    if imgui.calc_text_size(text).x <= width:
        return text
    while text and imgui.calc_text_size(text + "…").x > width:
        text = text[:-1]
    return text.rstrip() + "…"


def _explain(tooltip: str) -> None:
    if not tooltip or imgui.is_any_item_active() or not imgui.is_item_hovered(imgui.HoveredFlags_.for_tooltip.value):
        return
    if imgui.begin_tooltip():
        imgui.push_text_wrap_pos(TOOLTIP_WIDTH * scale())
        imgui.text_unformatted(tooltip)
        imgui.pop_text_wrap_pos()
        imgui.end_tooltip()
