"""Commands about how pictures and steps follow each other."""

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
        session.pace({self.name: self.value})


class SetQuality(NamedTuple):
    """Draw at another level where the view says "auto"."""

    quality: Quality

    topic = "quality"

    def apply(self, session: Session) -> None:
        session.quality = self.quality


class KeepPast(NamedTuple):
    """Snapshots of the past may take so many bytes; 0 for none."""

    nbytes: int

    topic = "past"

    def apply(self, session: Session) -> None:
        session.clock.keep_past(self.nbytes)
