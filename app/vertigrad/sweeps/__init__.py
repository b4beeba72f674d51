"""Sweeps: many runs of a scene with other parameters, on processes of this machine or of a cluster, and searches."""

from .outcomes import FinishedRun
from .script import sweep

__all__ = ["FinishedRun", "sweep"]
