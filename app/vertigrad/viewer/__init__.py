"""The window, its input, and the frame loop."""

from .loop import Viewer, view

__all__ = ["Viewer", "view"]
