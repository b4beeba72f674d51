"""`ResultsPanel`: the runs of a sweep: a table, parallel coordinates, a scatter matrix, the contact sheet."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

from imgui_bundle import icons_fontawesome_6 as icons
from imgui_bundle import imgui

from ..errors import InputError
from ..results import SweepFolder
from ..results.folder import RUNS
from ..results.scene_files import SceneFiles
from ..session import Session
from ..session.commands import OpenRun
from .base import Panel
from .result_details import ResultDetails
from .result_plots import draw_parallel_coordinates, draw_scatter_matrix
from .result_selection import ResultSelection
from .result_sheet import draw_contact_sheet
from .result_table import draw_table
from .rows import paragraph, scale
from .tables import draw_parts
from .theme import ACCENT, BAD, DIM
from .thumbnails import Thumbnails
from .workspace import Workspace

READ_S = 1.0  # between two polls whether a sweep that still runs has written more
DETAILS = 300.0  # width of the column with the chosen runs, in logical pixels
HINT = "A sweep runs a scene with many values of its parameters: `vertigrad sweep SCENE --set a.x=0:1:20 -o FOLDER`."


class ResultsPanel(Panel):
    """A click on a run opens it, with its parameters and its seed; with Ctrl it is compared with the one before."""

    title = "Results"
    icon = icons.ICON_FA_TABLE_CELLS

    def __init__(self, workspace: Workspace, small: Thumbnails, large: Thumbnails) -> None:
        self._workspace, self._small = workspace, small
        self._details = ResultDetails(large)
        self._typed, self._error = "", ""
        self._selection: ResultSelection | None = None
        self._read_at, self._stamp = 0.0, 0.0
        self._files, self._changed = SceneFiles({}), ""

    def draw(self, session: Session) -> None:
        selection = self._read()
        if selection is None:
            self._draw_choice()
            return
        if self._changed:
            paragraph(f"{icons.ICON_FA_TRIANGLE_EXCLAMATION}  {self._changed}", ACCENT)
        whole = imgui.get_content_region_avail().x
        side = min(DETAILS * scale(), 0.4 * whole)
        views, details = partial(self._draw_views, session, selection), partial(self._details.draw, session, selection)
        draw_parts(("views", whole - side - 14 * scale(), 0.0, views), ("details", 0.0, 0.0, details))

    # inside -----------------------------------------------------------------------------------------------------

    def _read(self) -> ResultSelection | None:
        """What the folder has; it is read again when a run was added."""
        path, now = self._workspace.results, time.perf_counter()
        if path is None:
            self._selection = None
            return None
        known = self._selection is not None and self._selection.folder == path
        if known and now < self._read_at + READ_S:
            return self._selection
        self._read_at = now
        if known:
            self._check_files()
        stamp = _stamp(path / RUNS)
        if known and stamp == self._stamp:
            return self._selection
        try:
            folder = SweepFolder(path)
            before = self._selection if known else None
            self._selection = ResultSelection(path, folder.definition(), folder.results(), before)
            self._stamp, self._error = stamp, ""
        except InputError as error:
            self._error, self._workspace.results, self._selection = str(error), None, None
        if not known and self._selection is not None:
            self._small.forget()
            self._details.forget()
            self._files = SceneFiles(self._selection.definition.files)
            self._check_files()
        return self._selection

    def _check_files(self) -> None:
        names = ", ".join(file.name for file in self._files.changed())
        self._changed = (
            f"{names}: changed since the sweep, so what is opened may not be what was computed" if names else ""
        )

    def _draw_choice(self) -> None:
        """A field for the folder, while none is shown."""
        imgui.set_next_item_width(min(420.0 * scale(), imgui.get_content_region_avail().x))
        flags = imgui.InputTextFlags_.enter_returns_true.value
        entered, self._typed = imgui.input_text_with_hint("##folder", "folder of a sweep…", self._typed, flags)
        if entered and self._typed.strip():
            self._workspace.results = Path(self._typed.strip()).expanduser().absolute()
        if self._error:
            paragraph(self._error, BAD)
        paragraph(HINT, DIM)

    def _draw_views(self, session: Session, selection: ResultSelection) -> None:
        chosen = None
        if imgui.begin_tab_bar("##views"):
            for name, draw in (
                ("Table", draw_table),
                ("Parallel coordinates", draw_parallel_coordinates),
                ("Scatter matrix", draw_scatter_matrix),
                ("Contact sheet", partial(draw_contact_sheet, self._small)),
            ):
                shown, _ = imgui.begin_tab_item(name)
                if shown:
                    chosen = draw(selection)
                    imgui.end_tab_item()
            if imgui.tab_item_button(icons.ICON_FA_XMARK, imgui.TabItemFlags_.trailing.value):
                self._workspace.results = None
            imgui.set_item_tooltip("close these results")
            imgui.end_tab_bar()
        if chosen is not None:
            selection.choose(chosen, compared=imgui.get_io().key_ctrl)
            if not imgui.get_io().key_ctrl:
                run = selection.results[chosen]
                session.post(OpenRun(Path(selection.definition.scene), run.sets, run.seed))


def _stamp(file: Path) -> float:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0.0
