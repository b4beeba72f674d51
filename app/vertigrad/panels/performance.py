"""`PerformancePanel`: what frames take on the CPU and the GPU, how evenly they come, and which kernels take it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from imgui_bundle import ImVec2, ImVec4, imgui
from imgui_bundle import icons_fontawesome_6 as icons

from ..session import Session
from ..session.commands import SaveTrace, TimeKernels
from ..session.quality import reason, told
from ..session.statistics import statistics
from ..session.timeline import Timeline
from . import plots
from .base import Panel
from .rows import color, explain, fact, fitted, scale
from .tables import Throttled, column, next_column, right, table, visible_rows
from .theme import BAD, DIM, TEXT

SHOWN = 400  # frames in the plot
WIDE = 720.0  # logical pixels from which on the parts lie beside each other
COLORS: dict[str, ImVec4] = dict(
    zip(("frame", "CPU", "compute", "draw", "present", "wait"), (TEXT, *plots.SERIES), strict=False)
)
ON_GPU = "compute", "draw"  # a software adapter has no times of its own for them
MEANING = {
    "frame": "from the start of a frame to the start of the next",
    "CPU": "work on the CPU, without waiting",
    "compute": "models on the GPU",
    "draw": "layers, tone mapping and panels on the GPU",
    "present": "presenting the frame",
    "wait": "for the GPU to finish an earlier frame, and for the swapchain",
}


class Percentiles(NamedTuple):
    """A line of the table: percentiles in ms as they are written."""

    name: str
    p50: str
    p95: str
    p99: str


class Group(NamedTuple):
    """A group of the GPU's timer, or a kernel in one: ms in a frame, and its share of the whole."""

    name: str
    kernel: bool
    ms: float
    share: float


class Measurements(NamedTuple):
    """All values shown, updated twice a second."""

    rows: tuple[Percentiles, ...]
    dropped: str
    late: bool
    groups: tuple[Group, ...]
    top: float  # of the plot, ms
    target: float  # ms; 0 if there is none
    quality: tuple[str, str]  # the level in force, and why


class PerformancePanel(Panel):
    """Percentiles and a plot of the last frames' times, and the GPU's groups or kernels."""

    title = "Performance"
    icon = icons.ICON_FA_GAUGE_HIGH
    side = "bottom"
    opened = False

    def __init__(self) -> None:
        self._measurements = Throttled(measurements)

    def draw(self, session: Session) -> None:
        shown = self._measurements(session)
        whole, height = imgui.get_content_region_avail().x, imgui.get_content_region_avail().y
        if whole < WIDE * scale():
            self._times(shown)
            self._plot(session.timeline, shown, max(90.0 * scale(), 0.3 * height))
            self._groups(session, shown)
            return
        side = min(0.3 * whole, 300.0 * scale())
        with column("times", side) as seen:
            if seen:
                self._times(shown)
        next_column()
        with column("plot", whole - 2 * side - 28.0 * scale()) as seen:
            if seen:
                self._plot(session.timeline, shown, imgui.get_content_region_avail().y)
        next_column()
        with column("groups", 0.0) as seen:
            if seen:
                self._groups(session, shown)

    @staticmethod
    def _times(shown: Measurements) -> None:
        flags = imgui.TableFlags_.sizing_stretch_prop | imgui.TableFlags_.no_saved_settings
        if not imgui.begin_table("percentiles", 4, flags.value):
            return
        for text, share in (("ms per frame", 1.5), ("p50", 1.0), ("p95", 1.0), ("p99", 1.0)):
            imgui.table_setup_column(text, 0, share)
        imgui.table_next_row()
        for number, text in enumerate(("ms per frame", "p50", "p95", "p99")):
            imgui.table_set_column_index(number)
            right(text, DIM) if number else imgui.text_colored(DIM, text)
        for row in shown.rows:
            imgui.table_next_row()
            imgui.table_set_column_index(0)
            _swatch(COLORS[row.name])
            imgui.text_colored(TEXT, row.name)
            explain(MEANING[row.name])
            for number, text in enumerate(row[1:], 1):
                imgui.table_set_column_index(number)
                right(text)
        imgui.end_table()
        fact(
            "dropped frames",
            shown.dropped,
            BAD if shown.late else TEXT,
            "frames that came too late for the display",
        )
        fact("quality", shown.quality[0], tooltip=shown.quality[1])

    @staticmethod
    def _plot(timeline: Timeline, shown: Measurements, height: float) -> None:
        frames = timeline.frame_ms.values[-SHOWN:]
        with plots.plot("frames", height, (-SHOWN, 0.0), (0.0, shown.top), y_unit="ms", legend=True) as seen:
            if not seen:
                return
            if shown.target and shown.target < shown.top:
                plots.level("##target", shown.target, ImVec4(1.0, 1.0, 1.0, 0.22))
            plots.filled("frame", frames, COLORS["frame"], start=-float(len(frames)))
            for name, series in timeline.series().items():
                if name in ("CPU", "compute", "draw"):
                    values = series.values[-SHOWN:]
                    plots.line(name, values, COLORS[name], start=-float(len(values)))
            place = plots.pointed_at()
        if place is not None and len(frames) and -len(frames) <= place[0] < 0:
            imgui.set_tooltip(f"{-int(place[0]):,} frames ago: {frames[int(place[0])]:.2f} ms")

    @staticmethod
    def _groups(session: Session, shown: Measurements) -> None:
        timer = session.gpu.timer
        if not timer.available:
            imgui.text_colored(DIM, "This GPU has no timestamp queries.")
        else:
            changed, on = imgui.checkbox("per kernel", timer.each_kernel)
            explain("time each kernel separately: every dispatch becomes its own pass, which adds some overhead")
            if changed:
                session.post(TimeKernels(on))
            imgui.same_line()
        _trace_button(session)
        if session.gpu.adapter.kind == "software" and timer.available:
            imgui.push_text_wrap_pos(0.0)
            imgui.text_colored(DIM, "Software adapter: GPU times are unreliable.")
            imgui.pop_text_wrap_pos()
        with table("groups", (("on the GPU", 0.0), ("ms", 62.0), ("share", 52.0)), height=0.0) as clicked:
            if clicked is None:
                return
            for number in visible_rows(len(shown.groups)):
                _group_row(shown.groups[number])


def measurements(session: Session) -> Measurements:
    """The values shown of the frames so far."""
    timeline = session.timeline
    measured = session.gpu.adapter.kind != "software"
    rows = tuple(
        _percentiles(name, series.values) if measured or name not in ON_GPU else Percentiles(name, "n/a", "n/a", "n/a")
        for name, series in timeline.series().items()
    )
    target, last = timeline.target_ms, timeline.frame_ms.values[-SHOWN:]
    slow = float(np.percentile(last, 99)) if len(last) else 0.0
    shown_in_time = max(timeline.shown, 1)
    dropped = f"{timeline.dropped:,} · {timeline.dropped / (timeline.dropped + shown_in_time):.1%}" if target else "–"
    top = plots.nice_above(max(1.25 * slow, 1.25 * target, 1.0))
    chosen = session.view.quality, session.quality
    quality = told(*chosen), reason(*chosen)
    return Measurements(rows, dropped, timeline.dropped > 0, tuple(_grouped(session)), top, target, quality)


def _percentiles(name: str, values: np.ndarray) -> Percentiles:
    found = statistics(values.tolist())
    if found is None:
        return Percentiles(name, "–", "–", "–")
    return Percentiles(name, *(f"{found[key]:.2f}" for key in ("p50", "p95", "p99")))


def _grouped(session: Session) -> Iterator[Group]:
    """The groups of the last submissions that were timed, each followed by its kernels."""
    groups, kernels = averages(session)
    whole = sum(groups.values()) or 1.0
    for group, ms in groups.items():
        yield Group(group, False, ms, ms / whole)
        for (owner, kernel), part in kernels.items():
            if owner == group:
                yield Group(kernel, True, part, part / whole)


def averages(session: Session) -> tuple[Mapping[str, float], Mapping[tuple[str, str], float]]:
    """Mean ms of each group, and of each kernel by (group, kernel), over the last half a second of submissions."""
    timed = list(session.gpu.timer.submissions)[-30:]
    groups: dict[str, float] = {}
    kernels: dict[tuple[str, str], float] = {}
    for submission in timed:
        for span in submission.spans:
            groups[span.group] = groups.get(span.group, 0.0) + span.ms / len(timed)
            if span.kernel:
                key = span.group, span.kernel
                kernels[key] = kernels.get(key, 0.0) + span.ms / len(timed)
    return groups, kernels


def _group_row(group: Group) -> None:
    imgui.table_next_row()
    imgui.table_set_column_index(0)
    if group.kernel:
        imgui.indent(12.0 * scale())
    imgui.text_colored(DIM if group.kernel else TEXT, fitted(group.name, imgui.get_content_region_avail().x))
    if group.kernel:
        imgui.unindent(12.0 * scale())
    imgui.table_set_column_index(1)
    right(f"{group.ms:.3f}", DIM if group.kernel else TEXT)
    imgui.table_set_column_index(2)
    right(f"{group.share:.0%}", DIM)


def _trace_button(session: Session) -> None:
    if imgui.button(f"{icons.ICON_FA_FLOPPY_DISK}  Export trace"):
        session.post(SaveTrace())
    explain("the last ten seconds, for ui.perfetto.dev or chrome://tracing")
    written = session.written.get(SaveTrace.topic)
    if written is not None:
        _written(written)


def _written(path: Path) -> None:
    imgui.same_line()
    imgui.text_colored(DIM, fitted(path.name, imgui.get_content_region_avail().x))
    explain(str(path))


def _swatch(tint: ImVec4) -> None:
    """A dot before a name, in the color of its line."""
    corner, height = imgui.get_cursor_screen_pos(), imgui.get_text_line_height()
    center = ImVec2(corner.x + 4.0 * scale(), corner.y + height / 2)
    imgui.get_window_draw_list().add_circle_filled(center, 3.0 * scale(), color(tint))
    imgui.set_cursor_pos_x(imgui.get_cursor_pos_x() + 14.0 * scale())
