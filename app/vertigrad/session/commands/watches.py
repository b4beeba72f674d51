"""Commands about watches of tensor statistics."""

from __future__ import annotations

from typing import NamedTuple

from ..session import Session
from ..watches import Watch


class AddWatch(NamedTuple):
    """Add a watch of a statistic of a tensor."""

    watch: Watch

    topic = "watch"

    def apply(self, session: Session) -> None:
        session.watches.add(self.watch, session.stage)


class RemoveWatch(NamedTuple):
    """Remove a watch."""

    watch: Watch

    topic = "watch"

    def apply(self, session: Session) -> None:
        session.watches.remove(self.watch)


class Guard(NamedTuple):
    """Look for NaN and infinity in the outputs, or not."""

    on: bool

    topic = "watch"

    def apply(self, session: Session) -> None:
        session.watches.guarding = self.on


class StopOnNan(NamedTuple):
    """Look at every output after each step, and end the run at the first NaN or infinity."""

    on: bool

    topic = "watch"

    def apply(self, session: Session) -> None:
        session.watches.thorough = self.on


class StopAtLimits(NamedTuple):
    """Stop the run where a diagnostic comes above the limit that its model names, or only tell of it."""

    on: bool

    topic = "limits"

    def apply(self, session: Session) -> None:
        session.limits.stopping = self.on


class DismissAlarm(NamedTuple):
    """Dismiss the alarm that stopped the run."""

    topic = "watch"

    def apply(self, session: Session) -> None:
        session.watches.dismiss_alarm()
