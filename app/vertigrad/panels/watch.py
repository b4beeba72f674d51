"""`WatchPanel`: plots of the models' diagnostics, of watched tensors and of a script; conditions that stop the run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from imgui_bundle import ImVec2, imgui
from imgui_bundle import icons_fontawesome_6 as icons

from ..ops.summary import Condition
from ..params import parse_number
from ..session import Session
from ..session import catalog as catalogs
from ..session.commands import AddWatch, DismissAlarm, Guard, RemoveWatch, StopAtLimits
from ..session.diagnostics import limits
from ..session.watches import STATISTICS, Watch
from . import plots
from .base import Panel
from .controls import checkbox, post_change
from .plot_cells import Cell, cells
from .rows import button_width, explain, fitted, paragraph, scale
from .tables import Throttled, draw_parts, width
from .theme import BAD, CLEAR, DIM, TEXT

WIDE = 560.0  # logical pixels from which on the parts are in a row
CELL, HEIGHT = 210.0, 92.0  # of a plot, in logical pixels

Show = Callable[[Session, str, int | None], None]


class WatchPanel(Panel):
    """Plots at the right; at the left a form for new watches. `show` inspects a row of a tensor."""

    title = "Watch"
    icon = icons.ICON_FA_CHART_LINE

    def __init__(self, show: Show) -> None:
        self._show = show
        self._cells = Throttled(cells)
        self._names = Throttled(lambda session: list(catalogs.catalog(session.stage)))
        self._tensor, self._statistic = "", 2
        self._nan, self._below, self._above = False, "", ""

    def draw(self, session: Session) -> None:
        whole = imgui.get_content_region_avail().x
        wide = whole >= WIDE * scale()
        room = (min(0.3 * whole, 260.0 * scale()), 0.0) if wide else (0.0, 180.0 * scale())
        form = "form", *room, partial(self._form, session)
        draw_parts(form, ("plots", 0.0, 0.0, partial(self._plots, session)), in_row=wide)

    def _form(self, session: Session) -> None:
        self._alarm(session)
        self._guards(session)
        imgui.spacing()
        self._new_watch(session)

    def _alarm(self, session: Session) -> None:
        alarm = session.watches.alarm
        if alarm is None:
            return
        paragraph(f"{icons.ICON_FA_TRIANGLE_EXCLAMATION}  {alarm}", BAD)
        if imgui.button(f"show row {alarm.row:,}"):
            self._show(session, alarm.tensor, alarm.row)
        imgui.same_line()
        if imgui.button("Dismiss"):
            session.post(DismissAlarm())
        explain("the run may continue; only a new finding stops it")
        imgui.spacing()

    @staticmethod
    def _guards(session: Session) -> None:
        tooltip = "check every float output on the GPU, one after the other"
        post_change(session, checkbox("stop at NaN or infinity", tooltip, session.watches.guarding), Guard)
        tooltip = "limits declared by the models, drawn as lines; if off, exceeding one only shows a warning"
        if limits(session.stage):
            post_change(session, checkbox("stop above a limit", tooltip, session.limits.stopping), StopAtLimits)

    def _new_watch(self, session: Session) -> None:
        names = self._names(session)
        if self._tensor not in names:
            self._tensor = names[0] if names else ""
        _, chosen = _choice("tensor", names, names.index(self._tensor) if names else 0)
        self._tensor = names[chosen] if names else ""
        _, self._statistic = _choice("statistic", list(STATISTICS), self._statistic)
        self._below = _limit("stop below", self._below)
        self._above = _limit("stop above", self._above)
        _label("stop at NaN")
        _, self._nan = imgui.checkbox("##nan", self._nan)
        imgui.same_line()
        button = f"{icons.ICON_FA_PLUS}  watch"
        room = imgui.get_content_region_avail().x - button_width(button)
        imgui.set_cursor_pos_x(imgui.get_cursor_pos_x() + max(room, 0.0))
        if imgui.button(button) and names:
            session.post(AddWatch(self._watch()))
            self._cells.forget()

    def _watch(self) -> Watch:
        stop = Condition(self._nan, self._nan, parse_number(self._below), parse_number(self._above))
        return Watch(self._tensor, STATISTICS[self._statistic], stop)

    def _plots(self, session: Session) -> None:
        shown = self._cells(session)
        if not shown:
            imgui.text_colored(DIM, "Nothing is watched yet.")
            return
        gap = 12.0 * scale()
        across = max(1, int((imgui.get_content_region_avail().x + gap) / (CELL * scale() + gap)))
        wide = (imgui.get_content_region_avail().x - gap * (across - 1)) / across
        left, top = imgui.get_cursor_pos_x(), imgui.get_cursor_pos_y()
        line = imgui.get_text_line_height() + imgui.get_style().item_spacing.y
        for index, cell in enumerate(shown):
            row, across_ = divmod(index, across)
            imgui.set_cursor_pos(ImVec2(left + across_ * (wide + gap), top + row * (line + HEIGHT * scale() + gap)))
            imgui.begin_group()
            self._draw_cell(session, cell, wide)
            imgui.end_group()

    def _draw_cell(self, session: Session, cell: Cell, wide: float) -> None:
        end = wide - (18.0 * scale() if cell.watch else 0.0)  # a group counts from its own left
        imgui.text_colored(DIM, fitted(cell.name, end - width(cell.value) - 10.0 * scale()))
        explain(cell.note)
        imgui.same_line(end - width(cell.value))
        imgui.text_colored(BAD if cell.bad else TEXT, cell.value)
        if cell.watch is not None:
            imgui.same_line(wide - 13.0 * scale())
            self._remove(session, cell)
        with plots.plot(
            cell.key,
            HEIGHT * scale(),
            cell.x_limits,
            cell.y_limits,
            width=wide,
            x_unit=cell.units[0],
            y_unit=cell.units[1],
            legend=len(cell.curves) > 1,
            log=cell.log,
        ) as visible:
            if visible:
                stops = (cell.watch.stop.below, cell.watch.stop.above) if cell.watch else (cell.bound,)
                for limit in stops:
                    if limit is not None:
                        plots.level(f"{limit}", limit, BAD)
                for index, curve in enumerate(cell.curves, 0 if cell.watch or len(cell.curves) > 1 else 1):
                    plots.curve(curve.name, curve.x, curve.y, plots.SERIES[index % len(plots.SERIES)])

    def _remove(self, session: Session, cell: Cell) -> None:
        imgui.push_style_color(imgui.Col_.button.value, CLEAR)
        imgui.push_style_color(imgui.Col_.text.value, DIM)
        if imgui.small_button(f"{icons.ICON_FA_XMARK}##{cell.key}") and cell.watch is not None:
            session.post(RemoveWatch(cell.watch))
            self._cells.forget()
        imgui.pop_style_color(2)
        explain("remove this watch")


def _label(text: str) -> None:
    left = imgui.get_cursor_pos_x()
    imgui.align_text_to_frame_padding()
    imgui.text_colored(DIM, text)
    imgui.same_line(left + 84.0 * scale())


def _choice(label: str, names: list[str], at: int) -> tuple[bool, int]:
    _label(label)
    imgui.set_next_item_width(-1.0)
    return imgui.combo(f"##{label}", at, names, 16)


def _limit(label: str, text: str) -> str:
    _label(label)
    imgui.set_next_item_width(-1.0)
    flags = imgui.InputTextFlags_.chars_scientific.value
    return imgui.input_text_with_hint(f"##{label}", "no limit", text, flags)[1]
