"""`TensorsPanel`: any tensor of any model: its layout, statistics and rows, and its difference to a frozen copy."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
from imgui_bundle import icons_fontawesome_6 as icons
from imgui_bundle import imgui

from ..ops.summary import Summary
from ..session import Session
from ..session import catalog as catalogs
from ..session.commands import AddWatch, Freeze, InspectTensor, SaveTensor, Thaw
from ..session.inspector import Inspection, Inspector, TensorRange, columns, page_rows, rows
from ..session.watches import Watch
from . import plots
from .base import Panel
from .controls import search_field
from .rows import explain, fact, fitted, scale
from .tables import Throttled, draw_parts, heading, next_column, number, right, row_height, size, table, visible_rows
from .theme import ACCENT, BAD, DIM, TEXT
from .workspace import Workspace

WIDE = 760.0  # logical pixels from which on the parts are in a row
MOST = 48  # columns in the table
CELL = 84.0  # width of a column in logical pixels
ROLES = {"output": "outputs", "state": "state", "inside": "inside"}


class Item(NamedTuple):
    """A tensor in the list."""

    name: str
    short: str
    model: str
    role: str
    note: str


class TensorInfo(NamedTuple):
    """Shape and layout of the chosen tensor, in words, and what the table needs of it."""

    name: str
    shape: tuple[int, ...]
    itemsize: int
    facts: tuple[tuple[str, str, str], ...]  # label, value, tooltip


class TensorsPanel(Panel):
    """A list of tensors; of the chosen one its layout, statistics and histogram, and a table of its rows."""

    title = "Tensors"
    icon = icons.ICON_FA_TABLE

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._items = Throttled(listed)
        self._info = Throttled(info)
        self._find = ""
        self._inspected: TensorRange | None = None
        self._jump: int | None = None  # the row to be scrolled to
        self._marked: int | None = None  # the one that was
        self._left = 0  # the first column in the table

    def draw(self, session: Session) -> None:
        whole = imgui.get_content_region_avail()
        wide = whole.x >= WIDE * scale()
        side = min(0.22 * whole.x, 220.0 * scale()) if wide else 0.0
        height = 0.0 if wide else min(0.25 * whole.y, 160.0 * scale())
        draw_parts(("list", side, height, partial(self._list, session)))
        view = session.inspector.target
        found = self._info(session, view.tensor) if view is not None else None
        if view is None or found is None or found.name != view.tensor:
            self._info.forget()
            return
        if wide:
            next_column()
        room = (min(0.3 * whole.x, 270.0 * scale()), 0.0) if wide else (0.0, 0.4 * whole.y)
        facts = "facts", *room, partial(self._facts, session, found)
        draw_parts(facts, ("rows", 0.0, 0.0, partial(self._rows, session, view, found)), in_row=wide)

    def show(self, session: Session, name: str, row: int | None = None) -> None:
        """Inspect a tensor, and scroll to a row of it."""
        self._jump = self._marked = row
        self._left = 0
        self._inspected = TensorRange(name)
        session.post(InspectTensor(self._inspected))
        self._info.forget()
        self._workspace.show(self.title)

    # the list -------------------------------------------------------------------------------------------------------

    def _list(self, session: Session) -> None:
        self._find, _ = search_field(self._find, 400.0 * scale())
        view, group = session.inspector.target, ("", "")
        for item in self._items(session):
            if self._find.lower() not in item.name.lower():
                continue
            if (item.model, item.role) != group:
                group = item.model, item.role
                text = f"{item.model} · {ROLES[item.role]}"
                imgui.text_colored(DIM, fitted(text, imgui.get_content_region_avail().x))
            chosen = view is not None and view.tensor == item.name
            if imgui.selectable(f"{item.short}##{item.name}", chosen)[0] and not chosen:
                self.show(session, item.name)
            explain(item.note)

    # statistics -----------------------------------------------------------------------------------------------------

    def _facts(self, session: Session, found: TensorInfo) -> None:
        self._buttons(session, found)
        result = session.inspector.result
        if result is not None:
            _histogram(result)
            self._summary(result.summary, found)
        if result is not None and result.column is not None:
            _column_plot(result, session.inspector.target)
        if result is not None and result.difference is not None:
            imgui.text_colored(ACCENT, "minus the frozen one")
            self._summary(result.difference, found)
        imgui.spacing()
        for label, value, tooltip in found.facts:
            fact(label, fitted(value, 0.72 * imgui.get_content_region_avail().x), tooltip=tooltip)

    def _buttons(self, session: Session, found: TensorInfo) -> None:
        frozen = session.inspector.frozen_at == found.name
        if imgui.button(f"{icons.ICON_FA_SNOWFLAKE}  {'thaw' if frozen else 'freeze'}"):
            session.post(Thaw() if frozen else Freeze())
        explain("compare with the tensor as it is now; nothing is copied until the model writes to it")
        imgui.same_line()
        if imgui.button(f"{icons.ICON_FA_FLOPPY_DISK}  .npy"):
            session.post(SaveTensor(found.name))
        written = session.written.get(SaveTensor.topic)
        explain(f"export for NumPy{f'; the last one is {written}' if written else ''}")
        imgui.same_line()
        if imgui.button(f"{icons.ICON_FA_EYE}  watch"):
            session.post(AddWatch(Watch(found.name)))
        explain("plot its mean over time, in the Watch panel")

    def _summary(self, summary: Summary, found: TensorInfo) -> None:
        width = max(columns(found.shape), 1)
        for label, value, at in (("min", summary.min, summary.min_at), ("max", summary.max, summary.max_at)):
            fact(label, number(value) if at is None else f"{number(value)}   row {at // width:,}")
            if at is not None and imgui.is_item_clicked():
                self._jump = self._marked = at // width
        fact("mean", number(summary.mean))
        fact("std", number(summary.std))
        bad = f"{summary.nan:,} · {summary.infinite:,}"
        fact("NaN · infinite", bad, BAD if summary.nan or summary.infinite else TEXT)

    # its rows -------------------------------------------------------------------------------------------------------

    def _rows(self, session: Session, view: TensorRange, found: TensorInfo) -> None:
        wide = columns(found.shape)
        if wide > MOST:
            imgui.set_next_item_width(160.0 * scale())
            _, self._left = imgui.slider_int("##left", self._left, 0, wide - MOST, "columns from %d")
        shown = range(self._left, min(self._left + MOST, wide))
        titles = [("row", 64.0), *((_title(c, found.shape), CELL) for c in shown)]
        flags = imgui.TableFlags_.scroll_x.value
        marked = shown.index(view.column) + 1 if view.column is not None and view.column in shown else -1
        with table(f"rows of {found.name}", titles, flags, marked=marked) as clicked:
            if clicked is None:
                return
            chosen = view.column
            if clicked > 0:  # a click on a heading plots its column, another one no longer does
                chosen = None if clicked == marked else shown[clicked - 1]
            first, last = self._draw_rows(session.inspector, found, shown)
        height = page_rows(found.shape, found.itemsize)
        rows_range = TensorRange(found.name, first // height * height, last // height * height + height - 1, chosen)
        if rows_range != self._inspected:
            self._inspected = rows_range
            session.post(InspectTensor(rows_range))

    def _draw_rows(self, inspector: Inspector, found: TensorInfo, shown: range) -> tuple[int, int]:
        """Draw the visible rows; returns the first and the last of them."""
        total, height = rows(found.shape), page_rows(found.shape, found.itemsize)
        if self._jump is not None:
            imgui.set_scroll_y(max(0.0, (self._jump - 2) * row_height()))
            self._jump = None
        first, last = total, 0
        for row in visible_rows(total):
            first, last = min(first, row), max(last, row)
            page = inspector.pages.get(row // height)
            values = page[row % height] if page is not None and row % height < len(page) else None
            imgui.table_next_row()
            imgui.table_set_column_index(0)
            right(f"{row:,}", ACCENT if row == self._marked else DIM)
            for index, column in enumerate(shown, 1):
                if imgui.table_set_column_index(index):
                    _cell(values, column)
        return min(first, last), last


def listed(session: Session) -> list[Item]:
    """The tensors of all models, by model and role."""
    found = []
    for entry in catalogs.catalog(session.stage).values():
        tensor, short = entry.tensor, entry.name.partition(".")[2]
        note = f"{tensor.dtype} {_shape(tensor.shape)}, {size(tensor.nbytes)}, block {tensor.block.id}"
        found.append(Item(entry.name, short, entry.model, entry.role, note))
    return found


def info(session: Session, name: str) -> TensorInfo | None:
    """Shape and layout of the tensor of this name; None if there is none now."""
    entries = catalogs.catalog(session.stage)
    if name not in entries:
        return None
    tensor = entries[name].tensor
    block = tensor.block
    others = [other for other, entry in entries.items() if other != name and entry.tensor.block is block]
    layers = _layers_of(session, block.id)
    row = "contiguous" if tensor.is_contiguous else "strided"
    facts = (
        ("shape", f"{_shape(tensor.shape)}  {tensor.dtype}", f"{tensor.size:,} elements, {size(tensor.nbytes)}"),
        ("layout", row, f"strides {tensor.strides} bytes, offset {tensor.offset} bytes"),
        ("strides", ", ".join(map(str, tensor.strides)) or "none", "bytes between elements along each axis"),
        ("offset", f"{tensor.offset:,} B", "offset of the first element in the block, in bytes"),
        ("block", f"{block.id} · {size(block.nbytes)}", f"generation {block.generation}, created at {block.origin}"),
        ("same block as", ", ".join(other.partition(".")[2] for other in others) or "nobody", "\n".join(others)),
        ("drawn by", ", ".join(layers) or "no layer", "layers that bind the same block"),
    )
    return TensorInfo(name, tensor.shape, tensor.itemsize, facts)


def _layers_of(session: Session, block: int) -> list[str]:
    found: list[str] = []
    for name, layer in session.stage.layers.items():
        attributes: Mapping[str, object] = layer.report()  # the layout of each, or its value if it is a constant
        if any(isinstance(layout, Mapping) and layout.get("block") == block for layout in attributes.values()):
            found.append(name)
    return found


def _shape(shape: tuple[int, ...]) -> str:
    return " × ".join(f"{n:,}" for n in shape) or "one"


def _title(column_: int, shape: tuple[int, ...]) -> str:
    """What stands over a column: its index along all axes but the first."""
    if len(shape) < 2:
        return "value"
    return ", ".join(str(index) for index in np.unravel_index(column_, shape[1:]))


def _cell(values: np.ndarray | None, column: int) -> None:
    if values is None:
        return right("…", DIM)
    value = values[column].item()
    if isinstance(value, bool):
        return right("true" if value else "false")
    right(number(value), TEXT if value == value and abs(value) != float("inf") else BAD)


def _histogram(result: Inspection) -> None:
    counts = result.counts
    if not result.summary.finite:
        return
    low, high = number(result.summary.min), number(result.summary.max)
    limits = (0.0, float(len(counts))), (0.0, 1.05 * float(counts.max()))
    with plots.plot("histogram", 58.0 * scale(), *limits) as visible:
        if visible:
            plots.bars("counts", counts.astype(np.float64), plots.SERIES[1])
    heading(low, high)


def _column_plot(result: Inspection, view: TensorRange | None) -> None:
    assert result.column is not None
    values = result.column.astype(np.float64)
    name = _title(view.column, result.shape) if view is not None and view.column is not None else ""
    note = f"every {result.step}th row" if result.step > 1 else ""
    heading(f"column {name}" if len(result.shape) > 1 else "values", note)
    length = float(max(len(values) - 1, 1) * result.step)
    with plots.plot("column", 84.0 * scale(), (0.0, length), plots.ends(values), x_unit="", y_unit="") as visible:
        if visible:
            plots.line("column", values, ACCENT, step=float(result.step))
