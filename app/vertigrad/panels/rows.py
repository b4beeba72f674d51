"""Rows: a label at the left, a value or a widget at the right, aligned over all panels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from imgui_bundle import ImVec2, ImVec4, imgui

from .look import ACCENT, DIM, TEXT

LABEL_SHARE = 0.40  # of a row's width
MARK = 9.0  # width of the gap at a row's left in which a changed value is marked, in logical pixels
TOOLTIP_WIDTH = 300.0


def scale() -> float:
    """Pixels to a logical pixel."""
    return imgui.get_style().font_scale_dpi


@contextmanager
def labelled(label: str, tooltip: str = "") -> Iterator[None]:
    """A row whose widget, drawn inside, fills what the label leaves; both show the tooltip."""
    left, width = imgui.get_cursor_pos_x(), imgui.get_content_region_avail().x
    imgui.align_text_to_frame_padding()
    _clipped(label, width * LABEL_SHARE - 4 * scale(), DIM)
    _explain(tooltip)
    imgui.same_line(left + width * LABEL_SHARE)
    imgui.set_next_item_width(width * (1.0 - LABEL_SHARE))
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
    _clipped(label, width - taken - 8 * scale(), DIM)
    _explain(tooltip)
    imgui.same_line(left + max(width - taken, 0.0))
    imgui.text_colored(tint, value)


def section(label: str, note: str = "", opened: bool = True) -> bool:
    """A heading that opens and closes what follows; `note` stands at its right end."""
    flags = imgui.TreeNodeFlags_.default_open if opened else imgui.TreeNodeFlags_.none
    is_open = imgui.collapsing_header(label, flags.value)
    if note:
        low, high = imgui.get_item_rect_min(), imgui.get_item_rect_max()
        size, inset = imgui.calc_text_size(note), 8 * scale()
        if low.x + imgui.calc_text_size(label).x + size.x + 6 * inset < high.x:
            place = ImVec2(high.x - size.x - inset, (low.y + high.y - size.y) / 2)
            imgui.get_window_draw_list().add_text(place, color(DIM), note)
    return is_open


def color(value: ImVec4) -> int:
    """As draw lists take it."""
    return imgui.color_convert_float4_to_u32(value)


def _clipped(text: str, width: float, tint: ImVec4) -> None:
    corner = imgui.get_cursor_screen_pos()
    imgui.push_clip_rect(corner, ImVec2(corner.x + max(width, 1.0), corner.y + imgui.get_frame_height()), True)
    imgui.text_colored(tint, text)
    imgui.pop_clip_rect()


def _explain(tooltip: str) -> None:
    if tooltip and imgui.is_item_hovered(imgui.HoveredFlags_.for_tooltip.value) and imgui.begin_tooltip():
        imgui.push_text_wrap_pos(TOOLTIP_WIDTH * scale())
        imgui.text_unformatted(tooltip)
        imgui.pop_text_wrap_pos()
        imgui.end_tooltip()
