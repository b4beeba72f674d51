"""`write_file`: replace a file atomically."""

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
    """Atomically replace the file at `path` by one with this content and the same permissions.

    The target of a link is written, and so is a device, such as /dev/stdout. `make_folder` creates a missing folder.
    `check` is called with the new file before it replaces the old one, and may raise. Raises `InputError`.
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
    """Write saved state of the program. A failure is only logged, with its `consequence`."""
    try:
        write_file(path, text.encode(), make_folder=True)
    except InputError as error:
        _log.warning("%s; %s", error, consequence)


def _replace(path: Path, content: bytes, check: Callable[[Path], object]) -> None:
    temporary = path.with_name(f".{path.name[:60]}.{os.urandom(6).hex()}.tmp")
    try:
        with open(temporary, "xb") as file:
            with suppress(FileNotFoundError):
                os.chmod(temporary, stat.S_IMODE(path.stat().st_mode))
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        check(temporary)
        os.replace(temporary, path)
    finally:
        with suppress(OSError):
            temporary.unlink()
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Flush the folder's new entry to the disk, where folders can be opened."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
