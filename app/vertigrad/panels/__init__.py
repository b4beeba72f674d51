"""GUI panels: each reads the session and posts commands; none changes it."""

from .gui import Gui

__all__ = ["Gui"]
