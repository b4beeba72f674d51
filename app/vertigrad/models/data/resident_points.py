"""Files of more points than may be in GPU memory: whether one is, and the points of it that are there at first."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .file_cache import cached
from .placement import AXES_BY_UP
from .point_formats import open_table
from .point_levels import levels
from .point_pages import Pages
from .point_shades import shades


@cached(4)
def is_larger(path: Path, resident: int) -> bool:
    """Whether a file has more points than `resident`. Raises `InputError`."""
    table = open_table(path)
    table.require_count()
    return table.count > resident


@cached(1)
def start(path: Path, size: float, up: str, color: str, resident: int) -> tuple[Pages, np.ndarray, np.ndarray, int]:
    """The pages of a file, its first positions and colors, and how many points were dropped. Raises `InputError`.

    The positions are as those of `point_file.read`.
    """
    found = levels(path)
    factor = size / max(found.edge, 1e-30) if size else 1.0
    turn = AXES_BY_UP[up].astype(np.float32)
    pages = Pages(found, shades(path, color, up), resident, factor, turn)
    return pages, *pages.start(), found.dropped
