"""What a sweep found: its folder, the table of its runs, contact sheet and plots. Knows no GPU and no scenes."""

from .folder import Definition, SweepFolder
from .run import Run
from .table import Results

__all__ = ["Definition", "Results", "Run", "SweepFolder"]
