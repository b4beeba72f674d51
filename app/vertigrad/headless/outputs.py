"""Output files: PNG images, and videos."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .. import export
from ..errors import InputError
from .exr import SUFFIX as EXR
from .exr import USUAL_EXR, Exr, ExrOptions, require_exr
from .offscreen import without_alpha
from .output import NUMBER, Output, numbered
from .video import FORMATS, Video, VideoOptions, is_video, require_video

USUAL = VideoOptions()


class Png(Output[np.ndarray]):
    """One PNG file: the last image; with its alpha if it is `transparent`. If `numbered`, one for each frame."""

    def __init__(self, path: Path, transparent: bool = False, numbered: bool = False):
        self._path, self._transparent, self._numbered = path, transparent, numbered

    def wants(self, frame: int, last: int) -> bool:
        """All frames if numbered, else the last."""
        return self._numbered or frame == last

    def put(self, frame: int, image: np.ndarray) -> None:
        """Write the file."""
        save_png(image, numbered(self._path, frame) if self._numbered else self._path, self._transparent)

    def close(self) -> None:
        """Does nothing: files are complete after `put`."""

    def discard(self) -> None:
        """Does nothing: no file is unfinished after `put`."""


def is_numbered(path: Path) -> bool:
    """Whether a file's name has a number such as %04d in it."""
    return NUMBER.search(path.name) is not None


def require_output(
    path: Path,
    size: tuple[int, int],
    transparent: bool = False,
    options: VideoOptions = USUAL,
    exr: ExrOptions = USUAL_EXR,
) -> None:
    """Raise `InputError` if images of `size` = (width, height) cannot be written to `path`; before any is drawn."""
    kind = path.suffix.lower()
    if kind == EXR:
        require_exr(path, exr)
    elif kind != ".png" and not is_video(path):
        raise InputError(
            f"{path}: images are written as .png, videos as {', '.join(FORMATS)}, and geometry as "
            f"{', '.join((*export.SUFFIXES, *export.USD_SUFFIXES))}, not as {kind or 'no suffix'}"
        )
    if is_video(path):
        require_video(path, size, options, transparent)
    require_writable(numbered(path, 0))


def require_writable(path: Path) -> None:
    """Make the folder of `path`, and raise `InputError` if no file can be written there. Leaves no file behind."""
    try:
        new = not path.exists()
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab"):
            pass
        if new:
            path.unlink()
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be written ({getattr(error, 'strerror', None) or error})") from error


def open_output(
    path: Path,
    size: tuple[int, int],
    transparent: bool = False,
    options: VideoOptions = USUAL,
    exr: ExrOptions = USUAL_EXR,
) -> Output[Any]:
    """The output for a file name: a video, .png or .exr (the last image, or with %d in it all). Raises `InputError`."""
    require_output(path, size, transparent, options, exr)
    if path.suffix.lower() == EXR:
        return Exr(path, transparent, is_numbered(path), exr)
    if is_video(path):
        return Video(path, size, options, transparent)
    return Png(path, transparent, numbered=is_numbered(path))


def save_png(pixels: np.ndarray, path: Path, transparent: bool) -> None:
    """Write an image, (height, width, 4) u8, with its alpha or without. Raises `InputError`."""
    from PIL import Image  # here: the viewer's first image does not wait for it

    try:
        Image.fromarray(pixels if transparent else without_alpha(pixels)).save(path)
    except OSError as error:
        raise InputError(f"{path}: the image cannot be written ({error.strerror})") from error
