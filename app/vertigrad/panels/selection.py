"""The selected row: a card over the viewport, and the panel in which a row is chosen by its number."""

from __future__ import annotations

from typing import Any

import numpy as np
from imgui_bundle import ImVec2, imgui, imgui_ctx
from imgui_bundle import icons_fontawesome_6 as icons

from ..params import shown
from ..session import Session
from ..session.commands import Deselect, FrameSelection, LookThroughCamera, Select
from ..session.row_values import Fact
from .base import Panel
from .docks import Rect
from .rows import fact, fitted, flat_button, labeled, scale
from .theme import BAD, DIM, TEXT, bold
from .windows import MARGIN, overlay

WIDTH = 250.0  # of the card, in logical pixels
LINES = 10  # facts that the card shows; the panel shows all
ELEMENTS = 4  # of a row that are written out


def draw_selection(session: Session, viewport: Rect) -> None:
    """Over the lower left of the viewport: the values of the selected row, if there is one."""
    if session.selection.row is None or viewport.width < 1.5 * WIDTH * scale():
        return
    margin, width = MARGIN * scale(), WIDTH * scale()
    imgui.set_next_window_size_constraints(ImVec2(width, 0.0), ImVec2(width, viewport.height - 2 * margin))
    with overlay("##selection", viewport.at((0.0, 1.0), margin), (0.0, 1.0)):
        _draw_heading(session)
        facts = session.selection.facts
        for known in facts[:LINES]:
            draw_fact(known)
        if len(facts) > LINES:
            imgui.text_colored(DIM, f"… and {len(facts) - LINES} more in the Selection panel")


class SelectionPanel(Panel):
    """A row by its layer and number, and its values."""

    title = "Selection"
    icon = icons.ICON_FA_CROSSHAIRS
    side = "right"

    def __init__(self) -> None:
        self._layer, self._row = "", 0

    def draw(self, session: Session) -> None:
        layers = list(session.stage.layers)
        if not layers:
            imgui.text_disabled("the scene has no layers")
            return
        row = session.selection.row
        if row is not None:
            self._layer, self._row = row.layer, row.row
        elif self._layer not in layers:
            self._layer, self._row = layers[0], 0
        self._draw_choice(session, layers)
        if row is None:
            imgui.text_colored(DIM, "click a point or a surface in the viewport")
            return
        imgui.spacing()
        _draw_heading(session)
        for known in session.selection.facts:
            draw_fact(known)

    def _draw_choice(self, session: Session, layers: list[str]) -> None:
        with labeled("layer"):
            changed, at = imgui.combo("##layer", layers.index(self._layer), layers)
        if changed:
            self._layer = layers[at]
            session.post(Select(self._layer, 0))
        rows = session.stage.layers[self._layer].rows
        with labeled("row", f"0 to {rows - 1:,}"):
            entered, typed = imgui.input_int("##row", self._row, 1, 100)
        if entered:
            session.post(Select(self._layer, min(max(typed, 0), rows - 1)))


def written(value: Any) -> str:
    """A value that was read, or a constant of the layer, in few words."""
    if value is None:
        return "…"
    if isinstance(value, str):
        return shown(value)
    parts = np.atleast_1d(np.asarray(value)).ravel()
    words = [_number(part) for part in parts[:ELEMENTS]]
    return ", ".join([*words, "…"] if len(parts) > ELEMENTS else words)


def _number(part: Any) -> str:
    if isinstance(part, np.bool_):
        return "true" if part else "false"
    return f"{part:,}" if isinstance(part, np.integer) else f"{part:.5g}"


def _draw_heading(session: Session) -> None:
    row = session.selection.row
    assert row is not None, "the callers check"
    button = imgui.get_frame_height()
    buttons = 2 if session.selection.camera is None else 3
    what = f"row {row.row:,}" if row.cell is None else f"vertex {row.row:,}"
    imgui.align_text_to_frame_padding()
    with imgui_ctx.push_font(bold(), 0.0):
        imgui.text(fitted(f"{row.layer}  {what}", imgui.get_content_region_avail().x - (buttons + 0.4) * button))
    imgui.same_line(imgui.get_cursor_pos_x() + imgui.get_content_region_avail().x - buttons * button)
    if buttons == 3:
        if flat_button(f"{icons.ICON_FA_CAMERA}##look", "look through this camera"):
            session.post(LookThroughCamera())
        imgui.same_line(0.0, 0.0)
    if flat_button(f"{icons.ICON_FA_EXPAND}##frame", "frame selected (Shift+F)"):
        session.post(FrameSelection())
    imgui.same_line(0.0, 0.0)
    if flat_button(f"{icons.ICON_FA_XMARK}##clear", "deselect (Esc)"):
        session.post(Deselect())
    if row.cell is not None and row.corners is not None:
        rows = ", ".join(f"{corner:,}" for corner in row.corners)
        fact("cell", f"{row.cell:,}", DIM, f"the triangle of the rows {rows}")


def draw_fact(known: Fact) -> None:
    """One line: its name and its value."""
    value = known.value
    sound = not isinstance(value, np.ndarray) or value.dtype.kind != "f" or bool(np.isfinite(value).all())
    named = f"the same row of {known.source}" if known.source else "the same for all rows"
    fact(_label(known), written(value), TEXT if sound else BAD, named)


def _label(known: Fact) -> str:
    """What it is, and the tensor it is read from where that has another name: "color (galaxy.phase)"."""
    name = known.name.partition(".")[2] or known.name
    return name if known.source.partition(".")[2] in ("", name) else f"{name} ({known.source})"
