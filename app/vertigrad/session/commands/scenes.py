"""Commands about the scene as a whole, and what is told about it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ..session import Session


class Reload(NamedTuple):
    """Read the scene file again: what changed in it is taken over, the models go on.

    With `restart`, or another file, everything is built anew.
    """

    path: Path | None = None
    restart: bool = False

    topic = "scene"

    def apply(self, session: Session) -> None:
        session.reload(self.path, self.restart)


class Dismiss(NamedTuple):
    """Take the messages off the picture, whatever they are about."""

    topic = "messages"

    def apply(self, session: Session) -> None:
        session.messages.clear()
