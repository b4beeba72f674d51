"""Commands about the scene as a whole, and what is told about it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ..session import Session


class Reload(NamedTuple):
    """Read the scene file again, or another one."""

    path: Path | None = None

    topic = "scene"

    def apply(self, session: Session) -> None:
        session.reload(self.path)


class Dismiss(NamedTuple):
    """Take the messages off the picture, whatever they are about."""

    topic = "messages"

    def apply(self, session: Session) -> None:
        session.messages.clear()
