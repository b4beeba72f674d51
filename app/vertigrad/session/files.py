"""Names for files that the user asks for without naming them, their folders, and programs that open files."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Container
from pathlib import Path

from ..errors import InputError

WAIT = 5.0  # seconds in which a program that opens files has failed if it ends with an error


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


def open_external(path: Path, failed: Callable[[InputError], object]) -> None:
    """Show `path` in another program, without waiting for that.

    `failed` is called from another thread, with an error that names the path, if the system has no program for it.
    """
    threading.Thread(target=_open, args=(path, failed), name="program outside", daemon=True).start()


def _open(path: Path, failed: Callable[[InputError], object]) -> None:
    try:
        if sys.platform == "win32":
            os.startfile(path)
            return
        program = "open" if sys.platform == "darwin" else "xdg-open"
        quiet = subprocess.DEVNULL
        started = subprocess.Popen([program, path], stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
        try:
            code = started.wait(WAIT)
        except subprocess.TimeoutExpired:  # some are the program that shows the file
            started.wait()  # it leaves no zombie
            return
    except OSError as error:
        failed(InputError(f"{path}: no program to open it with ({error.strerror or error})"))
        return
    if code:
        failed(InputError(f"{path}: no program to open it with ({program} ended with {code})"))
