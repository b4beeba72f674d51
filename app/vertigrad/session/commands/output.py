"""Commands that take pictures and videos of what is seen."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ...errors import InputError, VertigradError
from ..output import Shot, Studio
from ..session import Session


class TakeScreenshot(NamedTuple):
    """Write the next picture into a file named by scene and time."""

    shot: Shot = Shot()

    topic = "screenshot"

    def apply(self, session: Session) -> None:
        _studio(session).shoot(self.shot)


class StartRecording(NamedTuple):
    """Record a video of every frame from now on, into the current folder or another."""

    folder: Path | None = None

    topic = "recording"

    def apply(self, session: Session) -> None:
        _studio(session).start(self.folder)


class StopRecording(NamedTuple):
    """The video ends here."""

    topic = "recording"

    def apply(self, session: Session) -> None:
        _studio(session).stop()


class Captured(NamedTuple):
    """A screenshot or a video ended as the file `path`, or with an error, which is shown."""

    topic: str
    path: Path | None = None
    error: VertigradError | None = None

    def apply(self, session: Session) -> None:
        if self.error is not None:
            raise self.error
        if self.path is not None:
            session.written[self.topic] = self.path


def _studio(session: Session) -> Studio:
    if session.studio is None:
        raise InputError("there is no window to take pictures of; `vertigrad render` writes them without one")
    return session.studio
