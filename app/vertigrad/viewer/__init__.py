"""The window, its input, and the frame loop."""

from .loop import Viewer
from .settings import settings_file
from .show import view

__all__ = ["Viewer", "settings_file", "view"]
