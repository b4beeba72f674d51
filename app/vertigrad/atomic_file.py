"""`write_file`: a file that is at every moment the old one or the new one, whole."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from .errors import InputError

_log = logging.getLogger("vertigrad")


def write_file(
    path: Path, content: bytes, *, make_folder: bool = False, check: Callable[[Path], object] = lambda path: None
) -> None:
    """Put a file with this content in the place of the one at `path`, in one instant, with the same permissions.

    A link stays, and what it leads to is written; so is a device, such as /dev/stdout. `make_folder` creates the folder
    if there is none. `check` is called with the new file before it takes the place, and may raise. Raises `InputError`.
    """
    try:
        target = Path(os.path.realpath(path))
        if make_folder:
            target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_file() or not target.exists():
            _replace(target, content, check)
        else:
            target.write_bytes(content)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from error


def write_state(path: Path, text: str, consequence: str) -> None:
    """Write what is kept from one run to the next. If that fails, only the log says so, and the `consequence`."""
    try:
        write_file(path, text.encode(), make_folder=True)
    except InputError as error:
        _log.warning("%s; %s", error, consequence)


def _replace(path: Path, content: bytes, check: Callable[[Path], object]) -> None:
    made = path.with_name(f".{path.name[:60]}.{os.urandom(6).hex()}.tmp")
    try:
        with open(made, "xb") as file:
            with suppress(FileNotFoundError):
                os.chmod(made, stat.S_IMODE(path.stat().st_mode))
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        check(made)
        os.replace(made, path)
    finally:
        with suppress(OSError):
            made.unlink()
    _settle(path.parent)


def _settle(folder: Path) -> None:
    """Let the folder's new entry reach the disk too, where folders can be opened."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
