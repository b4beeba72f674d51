"""Rows: a label at the left, a value or a widget at the right, aligned over all panels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TypeVar

from imgui_bundle import ImVec2, ImVec4, imgui, imgui_ctx
from imgui_bundle import icons_fontawesome_6 as icons

from .theme import ACCENT, CLEAR, DIM, TEXT, bold

LABEL_SHARES = 0.36, 0.48  # of a row's width: the least and the most that labels take
MARK = 9.0  # width of the gap at a row's left in which a changed value is marked, in logical pixels
TOOLTIP_WIDTH = 300.0
_WAVE = (0.3, 0.0), (2.3, -9.0), (4.7, 9.0), (6.7, 0.0)  # the mark of what moves, in logical pixels

T = TypeVar("T")


def scale() -> float:
    """Pixels to a logical pixel."""
    return imgui.get_style().font_scale_dpi


@contextmanager
def labeled(label: str, tooltip: str = "", room: float = 0.0) -> Iterator[None]:
    """A row whose widget, drawn inside, fills what the label leaves; both show the tooltip.

    The widgets of rows with the same `room`, the width of their widest label, are aligned.
    """
    left, width, gap = imgui.get_cursor_pos_x(), imgui.get_content_region_avail().x, 8 * scale()
    column = columns(width, room)
    imgui.align_text_to_frame_padding()
    imgui.text_colored(DIM, fitted(label, column - gap))
    explain(tooltip)
    imgui.same_line(left + column)
    imgui.set_next_item_width(width - column)
    imgui.begin_group()
    yield
    imgui.end_group()
    explain(tooltip)


def columns(width: float, room: float) -> float:
    """Of a row of this width, what its label takes, if the widest one takes `room`."""
    least, most = LABEL_SHARES
    return min(max(room + 8 * scale(), least * width), most * width)


def mark(tooltip: str, animated: bool) -> bool:
    """At the beginning of a row: a dot for a changed value, a wave for an animated one; whether it was clicked."""
    corner, size = imgui.get_cursor_screen_pos(), ImVec2(MARK * scale(), imgui.get_frame_height())
    clicked = imgui.invisible_button("##mark", size)
    draw, unit, middle = imgui.get_window_draw_list(), scale(), corner.y + size.y / 2
    grown = 1.4 if imgui.is_item_hovered() else 1.0
    if animated:
        points = [ImVec2(corner.x + x * unit, middle + y * grown * unit) for x, y in _WAVE]
        draw.add_bezier_cubic(points[0], points[1], points[2], points[3], color(ACCENT), 1.6 * unit)
    else:
        draw.add_circle_filled(ImVec2(corner.x + 2.6 * unit, middle), 2.4 * grown * unit, color(ACCENT))
    explain(tooltip)
    imgui.same_line(0.0, 0.0)
    return clicked


def icon_button(icon: str, tooltip: str, possible: bool = True, tint: ImVec4 = TEXT) -> bool:
    """A square button; returns whether it was pressed."""
    imgui.begin_disabled(not possible)
    imgui.push_style_color(imgui.Col_.text.value, tint)
    pressed = imgui.button(icon, ImVec2(imgui.get_frame_height(), imgui.get_frame_height()))
    imgui.pop_style_color()
    imgui.end_disabled()
    if imgui.is_item_hovered(imgui.HoveredFlags_.for_tooltip.value | imgui.HoveredFlags_.allow_when_disabled.value):
        imgui.set_tooltip(tooltip)
    return pressed


def flat_button(
    label: str, tooltip: str, tint: ImVec4 = TEXT, background: ImVec4 = CLEAR, side: float | None = None
) -> bool:
    """A square button without a border, `side` pixels wide; returns whether it was pressed."""
    side = side or imgui.get_frame_height()
    imgui.push_style_color(imgui.Col_.button.value, background)
    imgui.push_style_color(imgui.Col_.text.value, tint)
    pressed = imgui.button(label, ImVec2(side, side))
    imgui.pop_style_color(2)
    imgui.set_item_tooltip(tooltip)
    return pressed


def in_rows(items: Iterable[T], across: int) -> Iterator[tuple[T, float]]:
    """Items to be drawn side by side, `across` of them in a row, each with its width in pixels."""
    gap = imgui.get_style().item_inner_spacing.x
    width = (imgui.get_content_region_avail().x - gap * (across - 1)) / across
    for index, item in enumerate(items):
        if index % across:
            imgui.same_line(0.0, gap)
        yield item, width


def text_button(text: str, name: str, width: float) -> bool:
    """A button whose text begins at its left and is cut to its width; returns whether it was pressed."""
    label = f"{fitted(text, width - 2 * imgui.get_style().frame_padding.x)}##{name}"
    with imgui_ctx.push_style_var(imgui.StyleVar_.button_text_align.value, ImVec2(0.0, 0.5)):
        return imgui.button(label, ImVec2(width, 0.0))


def copy_button(text: str, tooltip: str) -> None:
    """A button that copies a text."""
    if imgui.button(f"{icons.ICON_FA_COPY}  Copy"):
        imgui.set_clipboard_text(text)
    imgui.set_item_tooltip(tooltip)


def button_width(label: str, paddings: int = 2) -> float:
    """The width of a button, with so many times the style's padding around its label; 4 in dialogs."""
    return imgui.calc_text_size(label).x + paddings * imgui.get_style().frame_padding.x


def fact(label: str, value: str, tint: ImVec4 = TEXT, tooltip: str = "") -> None:
    """A row without a widget: a label, and a value at its right end."""
    left, width = imgui.get_cursor_pos_x(), imgui.get_content_region_avail().x
    taken = imgui.calc_text_size(value).x
    imgui.text_colored(DIM, fitted(label, width - taken - 8 * scale()))
    explain(tooltip)
    imgui.same_line(left + max(width - taken, 0.0))
    imgui.text_colored(tint, value)


def strong(text: str) -> None:
    """A text in the font of headings."""
    with imgui_ctx.push_font(bold(), 0.0):
        imgui.text_unformatted(text)


def paragraph(text: str, tint: ImVec4 = TEXT, right: float = 0.0) -> None:
    """A text in lines as long as the window is wide, or that end at `right`."""
    with imgui_ctx.push_text_wrap_pos(right):
        imgui.text_colored(tint, text)


def section(label: str, note: str = "", opened: bool = True) -> bool:
    """A heading that opens and closes what follows; `note` stands at its right end."""
    flags = imgui.TreeNodeFlags_.default_open if opened else imgui.TreeNodeFlags_.none
    right = imgui.get_cursor_screen_pos().x + imgui.get_content_region_avail().x
    is_open = imgui.collapsing_header(label, flags.value)
    low, high, size = imgui.get_item_rect_min(), imgui.get_item_rect_max(), imgui.calc_text_size(note)
    right = min(right, high.x - imgui.get_style().frame_padding.x)
    if note and low.x + imgui.calc_text_size(label, True).x + 40 * scale() < right - size.x:
        left_top = ImVec2(right - size.x, (low.y + high.y - size.y) / 2)
        imgui.get_window_draw_list().add_text(left_top, color(DIM), note)
    return is_open


@lru_cache(maxsize=64)
def color(value: ImVec4) -> int:
    """A constant color of the theme, in the format of draw lists."""
    return imgui.color_convert_float4_to_u32(value)


def fitted(text: str, width: float) -> str:
    """The text, or as much of its beginning as `width` has room for, with an ellipsis."""
    if imgui.calc_text_size(text).x <= width:
        return text
    while text and imgui.calc_text_size(text + "…").x > width:
        text = text[:-1]
    return text.rstrip() + "…"


def fitted_end(text: str, width: float) -> str:
    """The text, or as much of its end as `width` has room for, after an ellipsis."""
    if imgui.calc_text_size(text).x <= width:
        return text
    while text and imgui.calc_text_size("…" + text).x > width:
        text = text[1:]
    return "…" + text.lstrip(" .")


def wrapped(text: str, width: float, lines: int) -> str:
    """The text in lines of at most `width`, as much of it as so many have room for, with an ellipsis."""
    done: list[str] = []
    words = text.split()
    while words and len(done) < lines - 1:
        taken = len(words)
        while taken > 1 and imgui.calc_text_size(" ".join(words[:taken])).x > width:
            taken -= 1
        done.append(fitted(" ".join(words[:taken]), width))
        words = words[taken:]
    return "\n".join([*done, fitted(" ".join(words), width)] if words else done)


def explain(tooltip: str) -> None:
    """Show a tooltip while the mouse rests on the item drawn last."""
    if tooltip and imgui.is_item_hovered(imgui.HoveredFlags_.for_tooltip.value) and not imgui.is_any_item_active():
        show_tooltip(tooltip)


def show_tooltip(text: str) -> None:
    """Show a tooltip now, in lines that are not too long."""
    if imgui.begin_tooltip():
        paragraph(text, right=TOOLTIP_WIDTH * scale())
        imgui.end_tooltip()
