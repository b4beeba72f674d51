"""What every command gives."""

from __future__ import annotations

from typing import Protocol

from ..session import Session


class Command(Protocol):
    """A change of the session. Applied at the start of a frame and nowhere else."""

    @property
    def topic(self) -> str:
        """What it is about: the message that it fails with stands until one of the same topic succeeds."""
        ...

    def apply(self, session: Session) -> None:
        """Carry the change out. What it raises of `VertigradError` is shown to the user; the session goes on."""
