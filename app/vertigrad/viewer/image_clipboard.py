"""`ClipboardImage`: an image for the clipboard of the window system, by the system's own program for that."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from ..errors import InputError
from ..headless.offscreen import without_alpha
from ..headless.output import Output

WAIT = 10.0  # seconds that a program may take
WAYLAND, X11 = ("wl-copy", "--type", "image/png"), ("xclip", "-selection", "clipboard", "-t", "image/png")
MAC = 'set the clipboard to (read (POSIX file "{}") as «class PNGf»)'
WINDOWS = (
    "Add-Type -AssemblyName System.Windows.Forms, System.Drawing; "
    "[System.Windows.Forms.Clipboard]::SetImage([System.Drawing.Image]::FromFile('{}'))"
)


class ClipboardImage(Output[np.ndarray]):
    """Copies an image, as PNG, with its alpha if it is `transparent`. Raises `InputError` without such a program."""

    def __init__(self, transparent: bool = False):
        self._transparent = transparent

    def wants(self, frame: int, last: int) -> bool:
        return frame == last

    def put(self, frame: int, image: np.ndarray) -> None:
        """Copy the image."""
        from PIL import Image  # here: the window opens without it

        file = io.BytesIO()
        Image.fromarray(image if self._transparent else without_alpha(image)).save(file, "PNG")
        copy_image(file.getvalue())

    def close(self) -> None:
        """Does nothing: the image is in the clipboard after `put`."""

    def discard(self) -> None:
        """Does nothing: there is no file."""


def require_clipboard() -> None:
    """Raise `InputError` if no program can copy images."""
    if sys.platform.startswith("linux") and shutil.which(_linux()[0]) is None:
        program = _linux()[0]
        package = "wl-clipboard" if program == "wl-copy" else program
        raise InputError(f"images are copied by {program}, which is not installed; install the package {package}")


def copy_image(png: bytes) -> None:
    """Copy a PNG file to the clipboard. Raises `InputError`."""
    require_clipboard()
    if sys.platform.startswith("linux"):
        _run(_linux(), png)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "image.png"
        path.write_bytes(png)
        if sys.platform == "darwin":
            _run(("osascript", "-e", MAC.format(path)))
        else:
            _run(("powershell", "-NoProfile", "-STA", "-Command", WINDOWS.format(path)))


def _linux() -> tuple[str, ...]:
    return WAYLAND if os.environ.get("WAYLAND_DISPLAY") and not os.environ.get("DISPLAY") else X11


def _run(command: tuple[str, ...], data: bytes = b"") -> None:
    quiet = subprocess.DEVNULL  # not pipes: the program goes on in the background, and would hold them
    try:
        ended = subprocess.run(command, input=data, stdout=quiet, stderr=quiet, timeout=WAIT, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"the image was not copied: {command[0]}: {error}") from error
    if ended.returncode:
        raise InputError(f"the image was not copied: {command[0]} ended with {ended.returncode}")
