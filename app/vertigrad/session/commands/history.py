"""Commands that go back and forth between states of the parameters."""

from __future__ import annotations

from typing import NamedTuple

from ..session import Session


class Undo(NamedTuple):
    """Take back what was done last to parameters, seeds, substeps, presets, animations or bookmarks."""

    topic = "history"

    def apply(self, session: Session) -> None:
        session.report("undo", session.tweaks.undo())


class Redo(NamedTuple):
    """Do again what was undone last."""

    topic = "history"

    def apply(self, session: Session) -> None:
        session.report("undo", session.tweaks.redo())


class Flip(NamedTuple):
    """Go from A to B or back: each side keeps the values that it was left with; at first B is as the scene is."""

    topic = "parameters"

    def apply(self, session: Session) -> None:
        session.tweaks.flip()
