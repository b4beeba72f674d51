"""Names for files that the user asks for without naming them, and the folders they go to."""

from __future__ import annotations

import itertools
import re
from collections.abc import Container
from pathlib import Path

from ..errors import InputError


def here() -> Path:
    """The folder that the program was started in; the user's own once that was deleted."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path.home()


def new_file(stem: str, suffix: str, folder: Path | None = None, taken: Container[Path] = ()) -> Path:
    """A path for a file that does not exist yet, in `folder` or the current one: stem.png, then stem-2.png, …

    None of those `taken`, which are still to be written. A folder may begin with "~". Raises `InputError` if that means
    no user's.
    """
    try:
        folder = here() if folder is None else folder.expanduser()
    except RuntimeError as error:
        raise InputError(f"{folder}: there is no home folder of that user") from error
    stem = re.sub(r"[^\w.-]+", "_", stem).strip(".") or "file"
    names = itertools.chain([stem], (f"{stem}-{number}" for number in itertools.count(2)))
    paths = (folder / f"{name}{suffix}" for name in names)
    return next(path for path in paths if path not in taken and not path.exists())
