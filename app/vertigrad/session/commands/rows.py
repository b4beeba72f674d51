"""Commands about several rows: which are selected, and which are hidden. Each is a step of the history."""

from __future__ import annotations

from collections.abc import Sequence

from ...models.interaction import Gesture
from ..command import command, command_of
from ..region import Point
from ..row_selection import RowSelection
from ..session import Session

_TOPIC = "selection"
SetSelecting = command_of("brush", lambda session: session.rows)(RowSelection.set)


@command(_TOPIC)
def SelectRegion(
    session: Session,
    shape: str,
    points: Sequence[Point],
    size: tuple[int, int],
    radius: float = 0.0,
    mode: str = "replace",
    visible_only: bool = False,
) -> None:
    """Select the rows in a "box", a "lasso" or under a "brush" of `radius` pixels, in a viewport of `size`."""
    state = session.rows.in_region(shape, points, size, radius, mode, visible_only)
    session.scene_edits.change_rows(state, "select rows")


@command(_TOPIC)
def SelectRows(session: Session, layer: str, rows: object, mode: str = "replace") -> None:
    """Select rows of a layer by their numbers, or by a mask of all."""
    session.scene_edits.change_rows(session.rows.of_rows(layer, rows, mode), "select rows")


@command(_TOPIC)
def HideRows(session: Session, layer: str, rows: object) -> None:
    """Hide exactly these rows of a layer, by their numbers or a mask of all."""
    session.scene_edits.change_rows(session.rows.with_hidden(layer, rows), "hide rows")


@command(_TOPIC)
def Deselect(session: Session) -> None:
    """Deselect all rows."""
    session.selection.clear()
    session.scene_edits.change_rows(session.rows.nothing(), "deselect all")


@command(_TOPIC)
def SelectAllRows(session: Session) -> None:
    """Select all rows of a layer: that in which rows are selected, else that with most."""
    session.scene_edits.change_rows(session.rows.all_rows(), "select all")


@command(_TOPIC)
def InvertSelection(session: Session) -> None:
    """Select the other rows of the layer."""
    session.scene_edits.change_rows(session.rows.inverted(), "invert selection")


@command(_TOPIC)
def HideSelected(session: Session) -> None:
    """Hide the selected rows: they are neither drawn nor exported."""
    session.scene_edits.change_rows(session.rows.without_selected(), "hide selected")


@command(_TOPIC)
def CropToSelection(session: Session) -> None:
    """Hide all other rows of the layer."""
    session.scene_edits.change_rows(session.rows.only_selected(), "crop to selection")


@command(_TOPIC)
def ShowHidden(session: Session) -> None:
    """Show all hidden rows."""
    session.scene_edits.change_rows(session.rows.all_shown(), "show hidden")


@command("interaction")
def SetSelectTool(session: Session, shape: str | None) -> None:
    """Let the mouse select rows by a "box", a "lasso" or a "brush"; None: it moves the camera."""
    session.rows.select_shape(shape)
    if shape is not None:
        session.tool.select(None)


@command("interaction")
def SetTool(session: Session, tool: Gesture | None) -> None:
    """Let the mouse act on the models; None: it moves the camera."""
    session.tool.select(tool)
    session.rows.select_shape(None)
