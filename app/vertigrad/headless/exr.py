"""`Exr`: images of linear light as OpenEXR files of half floats, by the package OpenEXR."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np

from ..errors import InputError
from .output import Output, numbered

SUFFIX = ".exr"
MISSING = (
    "EXR images are written by OpenEXR, which is not installed; install it with pip install 'vertigrad[exr]', or write "
    "a .png"
)


def require_exr(path: Path) -> None:
    """Raise `InputError` if the package OpenEXR is not installed."""
    try:
        import_module("OpenEXR")
    except ImportError as error:
        raise InputError(f"{path}: {MISSING}") from error


class Exr(Output):
    """Linear light with exposure and bloom, before the film curve, in the primaries of sRGB: the last frame, or if
    `numbered` a file for each. If it is `transparent`, with alpha, by which colors are multiplied, and no background.
    """

    is_linear = True

    def __init__(self, path: Path, transparent: bool = False, numbered: bool = False):
        self._path, self._transparent, self._numbered = path, transparent, numbered

    def wants(self, frame: int, last: int) -> bool:
        """All frames if numbered, else the last."""
        return self._numbered or frame == last

    def put(self, frame: int, pixels: np.ndarray) -> None:
        """Write the file: pixels are f16 (height, width, 4)."""
        save_exr(pixels, numbered(self._path, frame) if self._numbered else self._path, self._transparent)

    def close(self) -> None:
        """Does nothing: files are complete after `put`."""

    def discard(self) -> None:
        """Does nothing: no file is unfinished after `put`."""


def save_exr(pixels: np.ndarray, path: Path, transparent: bool) -> None:
    """Write an image of linear light, f16 (height, width, 4), with its alpha or without. Raises `InputError`."""
    require_exr(path)
    library = import_module("OpenEXR")
    name, channels = ("RGBA", 4) if transparent else ("RGB", 3)
    header = {"compression": library.ZIP_COMPRESSION, "type": library.scanlineimage}
    try:
        with library.File(header, {name: np.ascontiguousarray(pixels[..., :channels])}) as file:
            file.write(str(path))
    except (OSError, RuntimeError) as error:
        raise InputError(f"{path}: the image cannot be written ({error})") from error
