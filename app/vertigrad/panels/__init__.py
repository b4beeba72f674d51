"""GUI panels: each reads the session and posts commands; none changes it."""

from .gui import Gui
from .row_selection import DrawnRegion

__all__ = ["DrawnRegion", "Gui"]
