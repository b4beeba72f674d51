"""The state of the running program, the commands that change it, and the report of a run."""

from .report import RunRecord
from .session import STEP, Session

__all__ = ["STEP", "RunRecord", "Session"]
