"""Undo, redo, and the A and B sides."""

from __future__ import annotations

from typing import NamedTuple

from ..session import Session


class Undo(NamedTuple):
    """Undo the last change of parameters, seeds, substeps, presets, animations or bookmarks."""

    topic = "history"

    def apply(self, session: Session) -> None:
        session.report("undo", session.scene_edits.undo())


class Redo(NamedTuple):
    """Redo what was undone last."""

    topic = "history"

    def apply(self, session: Session) -> None:
        session.report("undo", session.scene_edits.redo())


class SwitchSide(NamedTuple):
    """Switch between the sides A and B: each keeps its values; B begins as in the file."""

    topic = "parameters"

    def apply(self, session: Session) -> None:
        session.scene_edits.switch_side()
