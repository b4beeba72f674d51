"""`ResultDetails`: the chosen runs of a sweep, side by side."""

from __future__ import annotations

from pathlib import Path

from imgui_bundle import ImVec2, imgui, imgui_ctx
from imgui_bundle import icons_fontawesome_6 as icons

from ..results import Run
from ..results.arrangement import text
from ..session import Session
from ..session.commands import CompareRuns, OpenRun, SaveRunAsPreset
from .result_selection import ResultSelection
from .result_sheet import SHAPE, draw_image
from .rows import fitted, paragraph, scale, text_button
from .tables import number, right, table
from .theme import ACCENT, BAD, DIM, TEXT
from .thumbnails import Thumbnails

GAP = 8.0


class ResultDetails:
    """Images, values and outcomes of one or two runs; values that differ stand out."""

    def __init__(self, thumbnails: Thumbnails) -> None:
        self._thumbnails = thumbnails

    def forget(self) -> None:
        """Drop the images."""
        self._thumbnails.forget()

    def draw(self, session: Session, selection: ResultSelection) -> None:
        """Draw the runs that are chosen."""
        runs = selection.runs
        results = selection.results
        if not runs:
            failed = len(results.failed)
            paragraph(f"{selection.definition.title}: {len(results)} runs" + (f", {failed} failed" if failed else ""))
            paragraph("Click a run to open it. Ctrl+click another one to see both side by side.", DIM)
            return
        width = (imgui.get_content_region_avail().x - GAP * scale() * (len(runs) - 1)) / len(runs)
        size = round(width), round(width * SHAPE)
        if any("image" in run.files for run in runs):
            self._draw_images(selection, runs, size)
        for index, run in enumerate(runs):
            if index:
                imgui.same_line(0.0, GAP * scale())
            with imgui_ctx.push_id(run.key):
                self._draw_buttons(session, selection, run, width)
        if len(runs) == 2:
            self._draw_compare(session, selection, runs)
        _draw_values(selection, runs)
        for run in runs:
            if run.error:
                paragraph(run.error, BAD)

    def _draw_images(self, selection: ResultSelection, runs: list[Run], size: tuple[int, int]) -> None:
        self._thumbnails.resize(size)
        may_load = True
        for index, run in enumerate(runs):
            if index:
                imgui.same_line(0.0, GAP * scale())
            low = imgui.get_cursor_screen_pos()
            imgui.dummy(ImVec2(*size))
            box = low, ImVec2(low.x + size[0], low.y + size[1])
            may_load = draw_image(self._thumbnails, selection, run, box, may_load)

    @staticmethod
    def _draw_compare(session: Session, selection: ResultSelection, runs: list[Run]) -> None:
        if text_button(
            f"{icons.ICON_FA_TABLE_COLUMNS}  Run side by side", "compare", imgui.get_content_region_avail().x
        ):
            left, right = ((run.sets, run.seed) for run in runs)
            labels = label(runs[0]), label(runs[1])
            session.post(CompareRuns(Path(selection.definition.scene), left, right, labels))
        imgui.set_item_tooltip("both in the window, from their start, with the same camera and time")

    @staticmethod
    def _draw_buttons(session: Session, selection: ResultSelection, run: Run, width: float) -> None:
        scene = Path(selection.definition.scene)
        imgui.begin_group()
        if text_button(f"{icons.ICON_FA_PLAY}  Open", "open", width):
            session.post(OpenRun(scene, run.sets, run.seed))
        imgui.set_item_tooltip("run it in the window, from its start, with its parameters and seed")
        fits = session.scene.path == scene.resolve()
        imgui.begin_disabled(not fits)
        if text_button(f"{icons.ICON_FA_SWATCHBOOK}  Save as preset", "preset", width):
            session.post(SaveRunAsPreset(preset_name(run), run.sets))
        imgui.end_disabled()
        imgui.set_item_tooltip("a preset of the scene with the parameters of this run; Save writes it into the file")
        imgui.end_group()


def label(run: Run) -> str:
    """What to call a run where it is shown next to another one: its values and its seed."""
    return f"{preset_name(run)}, seed {run.seed}"


def preset_name(run: Run) -> str:
    """The name of the preset of a run: its values."""
    values = ", ".join(f"{name.rpartition('.')[2]} {text(value)}" for name, value in run.values.items())
    return (values or run.key)[:60]


def _draw_values(selection: ResultSelection, runs: list[Run]) -> None:
    results = selection.results
    headings = [("", 0.0), *((f"run {chr(65 + index)}", 84.0) for index in range(len(runs)))]
    with table("values", headings) as clicked:
        if clicked is None:
            return
        for name in results.parameters:
            _draw_row(name, [text(run.values.get(name, "")) for run in runs])
        _draw_row("seed", ["" if run.seed is None else str(run.seed) for run in runs])
        for name in results.outcomes:
            _draw_row(name, [number(run.outcomes.get(name)) for run in runs], TEXT)


def _draw_row(name: str, texts: list[str], same: imgui.ImVec4 = DIM) -> None:
    imgui.table_next_row()
    imgui.table_set_column_index(0)
    imgui.text_colored(DIM, fitted(name, imgui.get_content_region_avail().x))
    for index, words in enumerate(texts, 1):
        imgui.table_set_column_index(index)
        right(words, ACCENT if len(set(texts)) > 1 else same)
