"""`Failures`: errors that nobody expected, with their tracebacks. They are logged and shown; the program goes on."""

from __future__ import annotations

import logging
import platform
import traceback
from dataclasses import dataclass

import wgpu

from .. import __version__, resources
from ..gpu import Gpu

REPEATED = 3  # frames: the same error so soon after the last time is counted, and not reported again
MOST = 20  # that are shown at a time
REMEMBERED = 100  # different ones, the latest

_log = logging.getLogger("vertigrad")


@dataclass
class Failure:
    """One error: in which `stage` of a frame, what it says, and its traceback. `count` is how often it occurred."""

    stage: str
    message: str
    trace: str
    count: int = 1
    frame: int = 0  # in which it occurred last

    @property
    def text(self) -> str:
        """All of it, for a bug report."""
        return f"{self.stage}: {self.message}\n\n{self.trace}"


class Failures:
    """The errors of a run. `shown` are those that the user has not dismissed, the oldest first."""

    def __init__(self) -> None:
        self.shown: list[Failure] = []
        self.count = 0  # of different ones so far
        self._latest: dict[tuple[str, str, str], Failure] = {}  # by stage, kind of error and line of code

    def add(self, stage: str, error: BaseException, frame: int) -> bool:
        """Note an error of frame number `frame`; returns whether it is a new one, not a repetition of the last frames.

        A new one is written to the log with its traceback.
        """
        kind = type(error).__name__
        key = stage, kind, _where(error)
        known = self._latest.pop(key, None)
        if known is not None and frame - known.frame <= REPEATED:
            known.count, known.frame = known.count + 1, frame
            self._latest[key] = known
            return False
        message = f"{kind}: {error}"
        failure = Failure(stage, message, "".join(traceback.format_exception(error)), frame=frame)
        self._latest[key] = failure
        for old in list(self._latest)[:-REMEMBERED]:
            del self._latest[old]
        self.shown = [*self.shown, failure][-MOST:]
        self.count += 1
        _log.error("%s failed: %s", stage, message, exc_info=error)
        return True

    def dismiss(self) -> None:
        """Show none of them any more."""
        self.shown = []


def facts(gpu: Gpu) -> dict[str, str]:
    """What a report of an error has to say of program and machine, by label."""
    return {
        "Vertigrad": __version__,
        "GPU": str(gpu.adapter),
        "driver": gpu.adapter.driver or "unknown",
        "wgpu": wgpu.__version__,
        "Python": platform.python_version(),
        "system": platform.platform(),
        "log": str(resources.log_file()),
    }


def _where(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else ""
