"""`open_external`: a file in the program that the system has for it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from ..errors import InputError

WAIT = 5.0  # seconds in which a program that opens files has failed if it ends with an error


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
