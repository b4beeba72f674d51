"""`Exr`: images of linear light as OpenEXR files, by the package OpenEXR."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import InputError
from .output import LightImage, Output, numbered

SUFFIX = ".exr"
BITS = (16, 32)
MISSING = (
    "EXR images are written by OpenEXR, which is not installed; install it with pip install 'vertigrad[exr]', or write "
    "a .png"
)


class ExrOptions(NamedTuple):
    """`bits` of each float of the colors, 16 or 32, and whether there is a channel Z with the depth, of 32 bits."""

    bits: int = 16
    depth: bool = False


USUAL_EXR = ExrOptions()


def require_exr(path: Path, options: ExrOptions = USUAL_EXR) -> None:
    """Raise `InputError` for other options than there are, and if the package OpenEXR is not installed."""
    if options.bits not in BITS:
        raise InputError(f"{path}: {options.bits} bits; the floats of an EXR image have 16 or 32")
    try:
        import_module("OpenEXR")
    except ImportError as error:
        raise InputError(f"{path}: {MISSING}") from error


class Exr(Output[LightImage]):
    """Linear light with exposure and bloom, before the film curve, in the primaries of sRGB: the last frame, or if
    `numbered` a file for each. If it is `transparent`, with alpha, by which colors are multiplied, and no background.
    """

    is_linear = True

    def __init__(self, path: Path, transparent: bool = False, numbered: bool = False, options: ExrOptions = USUAL_EXR):
        require_exr(path, options)
        self._path, self._transparent, self._numbered = path, transparent, numbered

    def wants(self, frame: int, last: int) -> bool:
        """All frames if numbered, else the last."""
        return self._numbered or frame == last

    def put(self, frame: int, image: LightImage) -> None:
        """Write the file."""
        save_exr(image, numbered(self._path, frame) if self._numbered else self._path, self._transparent)

    def close(self) -> None:
        """Does nothing: files are complete after `put`."""

    def discard(self) -> None:
        """Does nothing: no file is unfinished after `put`."""


def save_exr(image: LightImage, path: Path, transparent: bool) -> None:
    """Write an image, with its alpha or without; its depth, if it has one, is the channel Z. Raises `InputError`."""
    require_exr(path)
    library = import_module("OpenEXR")
    name, count = ("RGBA", 4) if transparent else ("RGB", 3)
    header = {"compression": library.ZIP_COMPRESSION, "type": library.scanlineimage}
    channels = {name: np.ascontiguousarray(image.light[..., :count])}
    if image.depth is not None:
        channels["Z"] = np.ascontiguousarray(image.depth)
    try:
        with library.File(header, channels) as file:
            file.write(str(path))
    except (OSError, RuntimeError) as error:
        raise InputError(f"{path}: the image cannot be written ({error})") from error
