"""Commands about measuring what frames take."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from .. import trace
from ..files import new_file
from ..session import Session


class TimeKernels(NamedTuple):
    """Time each kernel of a plan, or the plan as a whole."""

    on: bool

    topic = "performance"

    def apply(self, session: Session) -> None:
        session.gpu.timer.each_kernel = self.on


class SaveTrace(NamedTuple):
    """Write the last seconds as a trace for Perfetto and chrome://tracing; to a new file if none is named."""

    path: Path | None = None
    seconds: float = trace.SECONDS

    topic = "save trace"

    def apply(self, session: Session) -> None:
        content = trace.trace(session.timeline, session.gpu, session.scene.title, self.seconds)
        path = self.path or new_file(f"{session.scene.path.stem}-trace", ".json")
        trace.write(content, path)
        session.written[self.topic] = path
