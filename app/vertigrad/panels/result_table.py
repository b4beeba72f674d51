"""The table of the runs of a sweep."""

from __future__ import annotations

from typing import Any

from imgui_bundle import imgui

from ..results.arrangement import text
from .result_selection import ResultSelection
from .rows import explain
from .tables import number, right, row_height, table, visible_rows
from .theme import ACCENT, BAD, DIM, TEXT

NONE = "–"
WIDTH = 96.0  # of a column, in logical pixels


def draw_table(selection: ResultSelection) -> int | None:
    """Draw it; returns the number of the run that was clicked. A click on a heading sorts by it."""
    results = selection.results
    names = ["state", *results.parameters, *results.outcomes, "seed", "seconds"]
    headings = [(name.rpartition(".")[2] if name in results.parameters else name, WIDTH) for name in names]
    columns = {name: results[name] for name in names}
    marked = names.index(selection.order[0]) if selection.order[0] in names else -1
    clicked_run = None
    with table("runs", headings, imgui.TableFlags_.scroll_x.value, marked=marked) as clicked:
        if clicked is None:
            return None
        if clicked >= 0:
            name, descending = selection.order
            selection.order = names[clicked], not descending if name == names[clicked] else False
        order = selection.sorted_numbers()
        for line in visible_rows(len(order)):
            run = results[order[line]]
            imgui.table_next_row()
            imgui.table_set_column_index(0)
            flags = imgui.SelectableFlags_.span_all_columns.value
            label = f"{run.state}##{order[line]}"
            if imgui.selectable(label, run.key in selection.chosen, flags, imgui.ImVec2(0.0, row_height() * 0.8))[0]:
                clicked_run = order[line]
            explain(run.error)
            for index, name in enumerate(names[1:], 1):
                if imgui.table_set_column_index(index):
                    value = columns[name][order[line]]
                    tint = BAD if run.state == "failed" else ACCENT if name == selection.metric else TEXT
                    shown = _shown(value)
                    right(shown, tint if shown != NONE else DIM)
    return clicked_run


def _shown(value: Any) -> str:
    """A value of a column; a run that failed has no outcomes."""
    if isinstance(value, float):
        return NONE if value != value else number(value)
    return "" if value is None else text(value)
