"""Pictures and videos without a window."""

from .offscreen import Offscreen
from .render import render

__all__ = ["Offscreen", "render"]
