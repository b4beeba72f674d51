"""The window, its input, and the frame loop."""

from .loop import view

__all__ = ["view"]
