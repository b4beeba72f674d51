"""Commands about frame pacing and quality."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..quality import Quality
from ..session import Session


class SetPacing(NamedTuple):
    """One of the values of `Session.pacing` becomes another."""

    name: str
    value: Any

    @property
    def topic(self) -> str:
        return f"pacing.{self.name}"

    def apply(self, session: Session) -> None:
        session.set_pacing({self.name: self.value})


class SetQuality(NamedTuple):
    """Draw at another level where the view says "auto"."""

    quality: Quality

    topic = "quality"

    def apply(self, session: Session) -> None:
        session.quality = self.quality


class SetRewindMemory(NamedTuple):
    """Set the memory of the rewind buffer, in bytes; 0 for none."""

    nbytes: int

    topic = "rewind memory"

    def apply(self, session: Session) -> None:
        session.clock.set_rewind_memory(self.nbytes)
