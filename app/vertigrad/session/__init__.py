"""The state of the running program, the commands that change it, and the report of a run."""

from .clock import FPS, STEP
from .report import RunRecord
from .session import Session

__all__ = ["FPS", "STEP", "RunRecord", "Session"]
