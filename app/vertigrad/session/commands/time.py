"""Commands about time."""

from __future__ import annotations

from typing import NamedTuple

from ..session import Session


class Play(NamedTuple):
    """Time passes, or stands still."""

    on: bool

    topic = "time"

    def apply(self, session: Session) -> None:
        session.play(self.on)


class Step(NamedTuple):
    """Stand still after some more frames."""

    frames: int = 1

    topic = "time"

    def apply(self, session: Session) -> None:
        session.step_frames(self.frames)


class SetSpeed(NamedTuple):
    """Model seconds that pass in a second of 60 frames."""

    speed: float

    topic = "time"

    def apply(self, session: Session) -> None:
        session.set_speed(self.speed)


class Reset(NamedTuple):
    """Every model back to its start."""

    topic = "reset"

    def apply(self, session: Session) -> None:
        session.reset()
