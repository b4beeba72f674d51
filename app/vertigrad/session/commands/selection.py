"""Commands about what is selected."""

from __future__ import annotations

from typing import NamedTuple

from ..session import Session


class Pick(NamedTuple):
    """Select what is seen at a pixel of a viewport of `size`; nothing if that is the background."""

    cursor: tuple[float, float]
    size: tuple[int, int]

    topic = "selection"

    def apply(self, session: Session) -> None:
        session.selection.pick(session.stage, session.camera, self.size, self.cursor, session.view)


class Select(NamedTuple):
    """Select a row of a layer by its number."""

    layer: str
    row: int

    topic = "selection"

    def apply(self, session: Session) -> None:
        session.select(self.layer, self.row)


class Deselect(NamedTuple):
    """Deselect."""

    topic = "selection"

    def apply(self, session: Session) -> None:
        session.selection.clear()
