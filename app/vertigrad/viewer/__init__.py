"""The window, its input, and the frame loop."""

from .loop import Viewer, view
from .settings import settings_file

__all__ = ["Viewer", "settings_file", "view"]
