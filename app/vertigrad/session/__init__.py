"""The state of the running program, the commands that change it, and the report of a run."""

from .clock import STEP
from .report import RunRecord
from .session import Session

__all__ = ["STEP", "RunRecord", "Session"]
