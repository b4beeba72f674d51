"""Images and videos without a window."""

from .offscreen import Offscreen
from .outputs import require_output, require_writable
from .render import render

__all__ = ["Offscreen", "render", "require_output", "require_writable"]
