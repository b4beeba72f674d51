"""Images, videos and geometry without a window."""

from .offscreen import Offscreen
from .outputs import numbered, require_output, require_writable
from .render import render
from .run_files import is_run_file

__all__ = ["Offscreen", "is_run_file", "numbered", "render", "require_output", "require_writable"]
