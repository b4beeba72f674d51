"""Names for files that the user asks for without naming them."""

from __future__ import annotations

import itertools
import re
from pathlib import Path


def new_file(stem: str, suffix: str, folder: Path | None = None) -> Path:
    """A path for a file that does not exist yet, in `folder` or the current one: stem.png, then stem-2.png, …"""
    stem = re.sub(r"[^\w.-]+", "_", stem).strip(".") or "file"
    folder = folder or Path.cwd()
    names = itertools.chain([stem], (f"{stem}-{number}" for number in itertools.count(2)))
    return next(path for name in names if not (path := folder / f"{name}{suffix}").exists())
