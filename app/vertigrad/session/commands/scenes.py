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


class SetHotReload(NamedTuple):
    """Turn hot reload of the scene's file, its shaders and its Python on or off."""

    on: bool

    topic = "hot reload"

    def apply(self, session: Session) -> None:
        session.hot_reload.on = self.on


class Dismiss(NamedTuple):
    """Dismiss all messages."""

    topic = "messages"

    def apply(self, session: Session) -> None:
        session.messages.clear()


class DismissFailures(NamedTuple):
    """Show the errors that nobody expected no more; the log has them."""

    topic = "failures"

    def apply(self, session: Session) -> None:
        if session.failures is not None:
            session.failures.dismiss()
