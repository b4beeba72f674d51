"""`MemoryPanel`: every block of GPU memory, memory in use over time, and bytes copied per frame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from imgui_bundle import icons_fontawesome_6 as icons
from imgui_bundle import imgui

from ..gpu import Traffic
from ..memory import Block, State
from ..session import Session
from . import plots
from .base import Panel
from .controls import search_field
from .rows import explain, fact, fitted, scale
from .tables import Throttled, draw_parts, heading, right, row, size, table, visible_rows
from .theme import BAD, DIM, TEXT
from .traffic import DIRECTIONS, FrameTraffic, draw_copies

SHOWN = 600  # frames in the plot
WIDE = 640.0  # logical pixels from which on the parts are in a row
_STATES = {State.LIVE: TEXT, State.RETIRING: plots.SERIES[0], State.FREE: DIM}


class Line(NamedTuple):
    """A row of the table: the text of each column, and the line of code that created the block."""

    texts: tuple[str, ...]
    state: State
    origin: str


# heading, width in logical pixels (0: a part of the rest), sort key, text
Column = tuple[str, float, Callable[[Block], Any], Callable[[Block], str]]
COLUMNS: tuple[Column, ...] = (
    ("owner", 70.0, lambda b: parts(b.name), lambda b: parts(b.name)[0]),
    ("tensor", 0.0, lambda b: parts(b.name)[1], lambda b: parts(b.name)[1]),
    ("bytes", 74.0, lambda b: b.nbytes, lambda b: size(b.nbytes)),
    ("state", 62.0, lambda b: b.state.value, lambda b: b.state.value),
    ("owners", 58.0, lambda b: b.owners, lambda b: str(b.owners)),
    ("pins", 44.0, lambda b: b.pins, lambda b: str(b.pins)),
    ("drawn", 52.0, lambda b: b.published, lambda b: str(b.published)),
    ("frame", 62.0, lambda b: b.last_frame, lambda b: f"{b.last_frame:,}"),
    ("serial", 66.0, lambda b: b.last_serial, lambda b: f"{b.last_serial:,}"),
    ("block", 52.0, lambda b: b.id, lambda b: str(b.id)),
    ("gen.", 44.0, lambda b: b.generation, lambda b: str(b.generation)),
    ("created at", 130.0, lambda b: (b.origin.file, b.origin.line), lambda b: short_origin(b.origin)),
)


_LARGEST_FIRST = imgui.TableColumnFlags_.default_sort | imgui.TableColumnFlags_.prefer_sort_descending
_HEADINGS = [(name, width or 150.0, _LARGEST_FIRST if name == "bytes" else 0) for name, width, _, _ in COLUMNS]


class MemoryPanel(Panel):
    """A table of all blocks, and totals, bytes in a frame, and leaks."""

    title = "Memory"
    icon = icons.ICON_FA_MEMORY

    def __init__(self) -> None:
        self._frame_traffic = FrameTraffic()
        self._updated_traffic = Throttled(self._frame_traffic.update)
        self._lines = Throttled(self._sorted)
        self._classes = Throttled(free_classes)
        self._filter = ""
        self._order = (2, True)  # column, descending

    def draw(self, session: Session) -> None:
        self._updated_traffic(session)
        whole = imgui.get_content_region_avail().x
        summary, blocks = partial(self._summary, session), partial(self._blocks, session)
        if whole < WIDE * scale():
            summary()
            blocks()
        else:
            side = min(0.32 * whole, 290.0 * scale())
            draw_parts(("summary", side, 0.0, summary), ("blocks", 0.0, 0.0, blocks))

    def _summary(self, session: Session) -> None:
        pool, tracker = session.gpu.pool, session.gpu.tracker
        draw_copies(self._frame_traffic)
        used = f"{size(pool.held_bytes - pool.free_bytes)} · peak {size(pool.peak_bytes)}"
        fact("in use", used, tooltip="live blocks, and those that the GPU needs until it finishes")
        fact("free for reuse", size(pool.free_bytes), tooltip=_class_note(self._classes(session)))
        if tracker.leak_count:
            fact("never closed", f"{tracker.leak_count:,}", BAD, "handles that the garbage collector had to close")
            for leak in list(tracker.leaks)[-4:]:
                imgui.text_colored(BAD, fitted(f"  {leak.name or 'unnamed'}", imgui.get_content_region_avail().x))
                explain(f"{size(leak.nbytes)}, created at {leak.origin}")
        _plot(session)
        self._traffic()

    def _traffic(self) -> None:
        """Bytes per frame: a row for each kind, a column for each direction."""
        flags = imgui.TableFlags_.sizing_stretch_prop | imgui.TableFlags_.no_saved_settings
        if not imgui.begin_table("traffic", 1 + len(DIRECTIONS), flags.value):
            return
        row("per frame", [(text, DIM) for text in DIRECTIONS.values()], DIM)
        for kind, counts in self._frame_traffic.per_frame.items():
            copied = BAD if kind == Traffic.GEOMETRY.value else TEXT
            cells = [(size(n), copied) if n else ("0", DIM) for n in map(counts.__getitem__, DIRECTIONS)]
            row(kind, cells, DIM)
        imgui.end_table()

    def _blocks(self, session: Session) -> None:
        self._filter, changed = search_field(self._filter, 180.0 * scale())
        if changed:
            self._lines.forget()
        lines = self._lines(session)
        imgui.same_line()
        imgui.align_text_to_frame_padding()
        heading(f"{len(lines):,} blocks")
        flags = imgui.TableFlags_.sortable | imgui.TableFlags_.scroll_x | imgui.TableFlags_.hideable
        with table("all", _HEADINGS, flags.value) as clicked:
            if clicked is None:
                return
            self._take_order()
            for number in visible_rows(len(lines)):
                _draw_line(lines[number])

    def _take_order(self) -> None:
        specs = imgui.table_get_sort_specs()
        if specs is None or not specs.specs_dirty:
            return
        specs.specs_dirty = False
        if specs.specs_count:
            first = specs.get_specs(0)
            descending = first.get_sort_direction() == imgui.SortDirection.descending
            self._order = first.column_index, descending
            self._lines.forget()

    def _sorted(self, session: Session) -> list[Line]:
        return lines(session.gpu.tracker.blocks.values(), self._filter, *self._order)


def lines(blocks: Sequence[Block] | Any, sought: str, order: int, descending: bool) -> list[Line]:
    """The blocks whose tensor's name, state or origin contains `sought`, in the order of a column."""
    sought = sought.lower()
    found = [b for b in blocks if not sought or sought in f"{b.name} {b.state.value} {b.origin}".lower()]
    found.sort(key=COLUMNS[order][2], reverse=descending)
    return [Line(tuple(c[3](b) for c in COLUMNS), b.state, str(b.origin)) for b in found]


def free_classes(session: Session) -> dict[int, int]:
    """How many free blocks there are of each capacity in bytes, largest first."""
    free = Counter(b.capacity for b in session.gpu.tracker.blocks.values() if b.state is State.FREE)
    return dict(sorted(free.items(), reverse=True))


def parts(name: str) -> tuple[str, str]:
    """The model that a tensor of this name belongs to, and the rest of the name; dashes for parts that are missing."""
    owner, dot, rest = name.partition(".")
    return (owner, rest) if dot else ("–", name or "–")


def short_origin(origin: Any) -> str:
    """The name of the file and the line in which something was created."""
    return f"{Path(origin.file).name}:{origin.line}" if origin.line else origin.file


def _class_note(classes: Mapping[int, int]) -> str:
    several = list(classes.items())[:10]
    written = [f"{number} × {size(capacity)}" for capacity, number in several]
    more = [f"and {len(classes) - len(several)} more sizes"] if len(classes) > len(several) else []
    return "\n".join(["free blocks", *written, *more]) if classes else "no free blocks"


def _draw_line(line: Line) -> None:
    imgui.table_next_row()
    tint = _STATES[line.state]
    for number, text in enumerate(line.texts):
        if not imgui.table_set_column_index(number):
            continue
        if COLUMNS[number][0] == "created at":
            imgui.text_colored(DIM, text)
            explain(line.origin)
        elif COLUMNS[number][0] in ("owner", "tensor", "state"):
            imgui.text_colored(tint, text)
        else:
            right(text, tint if text != "0" else DIM)


def _plot(session: Session) -> None:
    used, held = session.timeline.used_bytes.newest(SHOWN), session.timeline.held_bytes.newest(SHOWN)
    if not len(held):
        return
    height = 64.0 * scale()
    unit, name = _unit(float(held.max()))
    top = plots.nice_above(1.1 * float(held.max()) / unit)
    with plots.plot("memory", height, (-SHOWN, 0.0), (0.0, top), y_unit=name, legend=True) as visible:
        if visible:
            start = -float(len(held))
            plots.line("held", held / unit, DIM, start=start)
            plots.filled("used", used / unit, plots.SERIES[1], start=start)


def _unit(nbytes: float) -> tuple[float, str]:
    steps = ((1.0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"))
    return [(unit, name) for unit, name in steps if nbytes >= unit or unit == 1.0][-1]
