"""Commands that take screenshots and record videos."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ...errors import InputError, VertigradError
from ..capture import CaptureRequest, CaptureService
from ..session import Session


class TakeScreenshot(NamedTuple):
    """Write the next frame to a file named by scene and time."""

    request: CaptureRequest = CaptureRequest()

    topic = "screenshot"

    def apply(self, session: Session) -> None:
        _capture_service(session).take_screenshot(self.request)


class StartRecording(NamedTuple):
    """Record a video of every frame from now on, to the current folder or another."""

    folder: Path | None = None

    topic = "recording"

    def apply(self, session: Session) -> None:
        _capture_service(session).start_recording(self.folder)


class StopRecording(NamedTuple):
    """End the video."""

    topic = "recording"

    def apply(self, session: Session) -> None:
        _capture_service(session).stop_recording()


class CaptureFinished(NamedTuple):
    """A screenshot or a video ended as the file `path`, or with an error, which is shown."""

    topic: str
    path: Path | None = None
    error: VertigradError | None = None

    def apply(self, session: Session) -> None:
        if self.error is not None:
            raise self.error
        if self.path is not None:
            session.written[self.topic] = self.path


def _capture_service(session: Session) -> CaptureService:
    if session.capture is None:
        raise InputError("there is no window to capture; `vertigrad render` renders without one")
    return session.capture
