"""`PerformancePanel`: what frames take on the CPU and the GPU, how evenly they come, and which kernels take it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
from imgui_bundle import ImVec4, imgui
from imgui_bundle import icons_fontawesome_6 as icons

from ..session import Session
from ..session.commands import SaveTrace, TimeKernels
from ..session.quality import describe_level
from ..session.statistics import Series, statistics
from ..session.timeline import Timeline
from . import plots
from .base import Panel
from .controls import checkbox, post_change
from .rows import explain, fact, fitted, paragraph, scale
from .tables import Throttled, draw_parts, right_cells, row, table, visible_rows
from .theme import BAD, DIM, TEXT

SHOWN = 400  # frames in the plot
WIDE = 720.0  # logical pixels from which on the parts are in a row
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


class Group(NamedTuple):
    """A group of the GPU's timer, or a kernel in one: ms in a frame, and as a fraction of all groups."""

    name: str
    kernel: bool
    ms: float
    fraction: float


class Measurements(NamedTuple):
    """All values shown, updated twice a second."""

    rows: dict[str, list[str]]  # 50th, 95th and 99th percentile of each series, ms
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

    def __init__(self) -> None:
        self._measurements = Throttled(measurements)

    def draw(self, session: Session) -> None:
        shown = self._measurements(session)
        whole, height = imgui.get_content_region_avail().x, imgui.get_content_region_avail().y
        times, groups = partial(self._times, shown), partial(self._groups, session, shown)
        plot = partial(self._plot, session.timeline, shown)
        if whole < WIDE * scale():
            times()
            plot(max(90.0 * scale(), 0.3 * height))
            groups()
        else:
            side = min(0.3 * whole, 300.0 * scale())
            rest = whole - 2 * side - 28.0 * scale()
            draw_parts(
                ("times", side, 0.0, times),
                ("plot", rest, 0.0, lambda: plot(imgui.get_content_region_avail().y)),
                ("groups", 0.0, 0.0, groups),
            )

    @staticmethod
    def _times(shown: Measurements) -> None:
        flags = imgui.TableFlags_.sizing_stretch_prop | imgui.TableFlags_.no_saved_settings
        if not imgui.begin_table("percentiles", 4, flags.value):
            return
        for text, weight in (("ms per frame", 1.5), ("p50", 1.0), ("p95", 1.0), ("p99", 1.0)):
            imgui.table_setup_column(text, 0, weight)
        row("ms per frame", [(text, DIM) for text in ("p50", "p95", "p99")], DIM)
        for name, percentiles in shown.rows.items():
            row(name, [(text, TEXT) for text in percentiles], swatch=COLORS[name], tooltip=MEANING[name])
        imgui.end_table()
        tint = BAD if shown.late else TEXT
        fact("dropped frames", shown.dropped, tint, "frames that came too late for the display")
        fact("quality", shown.quality[0], tooltip=shown.quality[1])

    @staticmethod
    def _plot(timeline: Timeline, shown: Measurements, height: float) -> None:
        frames = timeline.frame_ms.newest(SHOWN)
        with plots.plot("frames", height, (-SHOWN, 0.0), (0.0, shown.top), y_unit="ms", legend=True) as visible:
            if not visible:
                return
            if shown.target and shown.target < shown.top:
                plots.level("##target", shown.target, ImVec4(1.0, 1.0, 1.0, 0.22))
            plots.filled("frame", frames, COLORS["frame"], start=-float(len(frames)))
            for name, series in timeline.series().items():
                if name in ("CPU", "compute", "draw"):
                    values = series.newest(SHOWN)
                    plots.line(name, values, COLORS[name], start=-float(len(values)))
            point = plots.pointed_at()
        if point is not None and len(frames) and -len(frames) <= point[0] < 0:
            imgui.set_tooltip(f"{-int(point[0]):,} frames ago: {frames[int(point[0])]:.2f} ms")

    @staticmethod
    def _groups(session: Session, shown: Measurements) -> None:
        timer = session.gpu.timer
        if not timer.available:
            imgui.text_colored(DIM, "This GPU has no timestamp queries.")
        else:
            tooltip = "time each kernel separately: every dispatch becomes its own pass, which adds some overhead"
            post_change(session, checkbox("per kernel", tooltip, timer.each_kernel), TimeKernels)
            imgui.same_line()
        _trace_button(session)
        if session.gpu.adapter.kind == "software" and timer.available:
            paragraph("Software adapter: GPU times are unreliable.", DIM)
        with table("groups", (("on the GPU", 0.0), ("ms", 62.0), ("share", 52.0)), height=0.0) as clicked:
            if clicked is None:
                return
            for number in visible_rows(len(shown.groups)):
                _group_row(shown.groups[number])


def measurements(session: Session) -> Measurements:
    """The values shown of the frames so far."""
    timeline = session.timeline
    measured = session.gpu.adapter.kind != "software"
    rows = {
        name: _percentiles(series) if measured or name not in ON_GPU else ["n/a"] * 3
        for name, series in timeline.series().items()
    }
    target, last = timeline.target_ms, timeline.frame_ms.newest(SHOWN)
    slow = float(np.percentile(last, 99)) if len(last) else 0.0
    shown_in_time = max(timeline.shown, 1)
    dropped = f"{timeline.dropped:,} · {timeline.dropped / (timeline.dropped + shown_in_time):.1%}" if target else "–"
    top = plots.nice_above(max(1.25 * slow, 1.25 * target, 1.0))
    quality = describe_level(session.view.quality, session.quality)
    return Measurements(rows, dropped, timeline.dropped > 0, tuple(_grouped(session)), top, target, quality)


def _percentiles(series: Series) -> list[str]:
    found = statistics(series)
    return [f"{found[key]:.2f}" for key in ("p50", "p95", "p99")] if found else ["–"] * 3


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
    tint, indent = (DIM, 12.0 * scale()) if group.kernel else (TEXT, 0.0)
    imgui.table_next_row()
    imgui.table_set_column_index(0)
    imgui.set_cursor_pos_x(imgui.get_cursor_pos_x() + indent)
    imgui.text_colored(tint, fitted(group.name, imgui.get_content_region_avail().x))
    right_cells([(f"{group.ms:.3f}", tint), (f"{group.fraction:.0%}", DIM)])


def _trace_button(session: Session) -> None:
    if imgui.button(f"{icons.ICON_FA_FLOPPY_DISK}  Export trace"):
        session.post(SaveTrace())
    explain("the last ten seconds, for ui.perfetto.dev or chrome://tracing")
    written = session.written.get(SaveTrace.topic)
    if written is not None:
        imgui.same_line()
        imgui.text_colored(DIM, fitted(written.name, imgui.get_content_region_avail().x))
        explain(str(written))
