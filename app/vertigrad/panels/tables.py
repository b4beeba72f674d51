"""Shared by panels with statistics: compact numbers, tables, and values that are updated only so often."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, TypeAlias, TypeVar

from imgui_bundle import ImVec2, ImVec4, imgui

from ..session import Session
from .rows import color, explain, scale
from .theme import ACCENT, DIM, TEXT

EVERY = 0.5  # seconds between updates of numbers: faster ones cannot be read
TABLE = (
    imgui.TableFlags_.row_bg
    | imgui.TableFlags_.scroll_y
    | imgui.TableFlags_.resizable
    | imgui.TableFlags_.no_borders_in_body
    | imgui.TableFlags_.no_saved_settings
    | imgui.TableFlags_.pad_outer_x
)

# text, width in logical pixels (0: a part of the remaining width), and perhaps flags of its column
Heading: TypeAlias = tuple[str, float] | tuple[str, float, int]

T = TypeVar("T")


class Throttled(Generic[T]):
    """A value that is recomputed on request, but for the same arguments at most every `EVERY` seconds."""

    def __init__(self, compute: Callable[..., T]):
        self._compute = compute
        self._value: T | None = None
        self._arguments: tuple[object, ...] = ()
        self._computed = -math.inf

    def __call__(self, *arguments: object) -> T:
        """The value for these arguments; of those of the last call it may be `EVERY` seconds old."""
        now = time.perf_counter()
        if self._value is None or arguments != self._arguments or now - self._computed >= EVERY:
            self._value, self._arguments, self._computed = self._compute(*arguments), arguments, now
        return self._value

    def forget(self) -> None:
        """Recompute it the next time."""
        self._value = None


def size(nbytes: float) -> str:
    """A number of bytes in a unit in which it can be read."""
    for unit in ("B", "kB", "MB"):
        if abs(nbytes) < 999.5:
            return f"{nbytes:.3g} {unit}"
        nbytes /= 1e3
    return f"{nbytes:.3g} GB"


def number(value: float | None) -> str:
    """A number in about seven letters; a dash for none."""
    if value is None:
        return "–"
    if isinstance(value, int) or (math.isfinite(value) and value == int(value) and abs(value) < 1e7):
        return f"{int(value):,}" if abs(value) < 1e12 else f"{value:.4g}"
    return f"{value:.5g}"


def diagnostic_label(session: Session, name: str) -> str:
    """A diagnostic in words, with its model's name where there are several."""
    model, _, quantity = name.partition(".")
    label = quantity.replace("_", " ")
    return f"{model}: {label}" if len(session.stage.instances) > 1 else label


def draw_parts(*parts: tuple[str, float, float, Callable[[], object]], in_row: bool = True) -> None:
    """Parts of a panel in a row or a column, with scroll bars: name, width and height, and what draws it if visible."""
    for index, (name, width, height, draw) in enumerate(parts):
        if index and in_row:
            next_column()
        if imgui.begin_child(name, ImVec2(width, height), 0, imgui.WindowFlags_.no_saved_settings.value):
            draw()
        imgui.end_child()


def next_column() -> None:
    """Continue to the right of the last part."""
    imgui.same_line(0.0, 14.0 * scale())


@contextmanager
def table(
    name: str, headings: Sequence[Heading], flags: int = 0, height: float = 0.0, marked: int = -1
) -> Iterator[int | None]:
    """A table whose headings stay when it scrolls. Gives the column whose heading was clicked, −1 for none; None if the
    table is not visible. The heading number `marked` stands out.
    """
    visible = imgui.begin_table(name, len(headings), TABLE | flags, ImVec2(0.0, height))
    clicked = None
    if visible:
        imgui.table_setup_scroll_freeze(0, 1)
        for text, wide, *more in headings:
            kind = imgui.TableColumnFlags_.width_fixed if wide else imgui.TableColumnFlags_.width_stretch
            imgui.table_setup_column(text, kind.value | sum(more), wide * scale())
        clicked = _head(headings, bool(flags & imgui.TableFlags_.sortable.value), marked)
    yield clicked
    if visible:
        imgui.end_table()


def _head(headings: Sequence[Heading], sortable: bool, marked: int) -> int:
    """The headings; those of numbers, which have a fixed width, are aligned to the right."""
    clicked = -1
    imgui.table_next_row(imgui.TableRowFlags_.headers.value)
    for number, (text, wide, *_) in enumerate(headings):
        if not imgui.table_set_column_index(number):
            continue
        tint = ACCENT if number == marked else DIM
        at_right = bool(wide) and not sortable
        imgui.push_style_color(imgui.Col_.text.value, tint)
        corner, room = imgui.get_cursor_screen_pos(), imgui.get_content_region_avail().x
        imgui.table_header(f"##{number}" if at_right else text)
        if at_right:
            left_top = ImVec2(corner.x + max(room - width(text), 0.0), corner.y)
            imgui.get_window_draw_list().add_text(left_top, color(tint), text)
        if imgui.is_item_clicked():
            clicked = number
        imgui.pop_style_color()
    return clicked


def row_height() -> float:
    """Of a table's line, in pixels."""
    return imgui.get_text_line_height() + 2 * imgui.get_style().cell_padding.y


def visible_rows(count: int, height: float | None = None) -> Iterator[int]:
    """The visible ones of `count` rows, of a table if there is no `height`."""
    clipper = imgui.ListClipper()
    clipper.begin(count, height or row_height())  # with a height, or it would draw the first row to measure it
    while clipper.step():
        yield from range(clipper.display_start, clipper.display_end)
    clipper.end()


def right(text: str, tint: ImVec4 = TEXT) -> None:
    """A text at the right end of its cell."""
    room = imgui.get_content_region_avail().x - imgui.calc_text_size(text).x
    if room > 0.0:
        imgui.set_cursor_pos_x(imgui.get_cursor_pos_x() + room)
    imgui.text_colored(tint, text)


def row(
    name: str,
    cells: Iterable[tuple[str, ImVec4]],
    tint: ImVec4 = TEXT,
    swatch: ImVec4 | None = None,
    tooltip: str = "",
) -> None:
    """A row of a table: a name, after a dot of the color `swatch` if any, and texts at the right of other cells."""
    imgui.table_next_row()
    imgui.table_set_column_index(0)
    if swatch is not None:
        corner, middle = imgui.get_cursor_screen_pos(), imgui.get_text_line_height() / 2
        center = ImVec2(corner.x + 4.0 * scale(), corner.y + middle)
        imgui.get_window_draw_list().add_circle_filled(center, 3.0 * scale(), color(swatch))
        imgui.set_cursor_pos_x(imgui.get_cursor_pos_x() + 14.0 * scale())
    imgui.text_colored(tint, name)
    explain(tooltip)
    right_cells(cells)


def right_cells(cells: Iterable[tuple[str, ImVec4]]) -> None:
    """Texts at the right ends of the cells after the first."""
    for number, cell in enumerate(cells, 1):
        imgui.table_set_column_index(number)
        right(*cell)


def heading(text: str, note: str = "") -> None:
    """A line over a part of a panel; `note` stands at its right end."""
    imgui.text_colored(DIM, text)
    if note:
        imgui.same_line()
        right(note, DIM)


def width(text: str) -> float:
    """Of a text, in pixels."""
    return imgui.calc_text_size(text).x
