"""Output files: PNG images and MP4 videos."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from .. import export
from ..errors import InputError

_NUMBER = re.compile(r"%(0?\d{0,2})d(?![A-Za-z])")  # in a file's name: which frame it is; not in "100%done"
LARGEST_VIDEO = 16384  # pixels per side, the limit of libx264
_ITU_709 = 1  # H.264's number of its color space, transfer curve and primaries; players assume it for larger videos


class Output(ABC):
    """Writes the images of a run in order. Raises `InputError` if they cannot be written."""

    @abstractmethod
    def wants(self, frame: int, last: int) -> bool:
        """Whether `frame` (from 0) must be passed to `put`; the run ends with the frame `last`."""

    @abstractmethod
    def put(self, frame: int, pixels: np.ndarray) -> None:
        """Write the image of `frame`, (height, width, 4) u8."""

    @abstractmethod
    def close(self) -> None:
        """Finish the file after the last image."""


class Png(Output):
    """One PNG file: the last image; with its alpha if it is `transparent`. If `numbered`, one for each frame."""

    def __init__(self, path: Path, transparent: bool = False, numbered: bool = False):
        self._path, self._transparent, self._numbered = path, transparent, numbered

    def wants(self, frame: int, last: int) -> bool:
        """All frames if numbered, else the last."""
        return self._numbered or frame == last

    def put(self, frame: int, pixels: np.ndarray) -> None:
        """Write the file."""
        save_png(pixels, numbered(self._path, frame) if self._numbered else self._path, self._transparent)

    def close(self) -> None:
        """Does nothing: files are complete after `put`."""


class Mp4(Output):
    """An H.264 video with an image for each frame, in the colors of ITU-R BT.709."""

    def __init__(self, path: Path, size: tuple[int, int], rate: int):
        import av  # here: it takes longer to import than an image takes to draw
        from av.error import FFmpegError
        from av.video.reformatter import Colorspace

        self._av, self._colorspace = av, Colorspace.ITU709
        self._path, self._errors = path, (OSError, FFmpegError)
        self._refused: InputError | None = None
        try:
            self._container = av.open(str(path), "w", options={"movflags": "+faststart"})
            options = {"crf": "16", "preset": "veryfast"}
            self._stream = self._container.add_stream("libx264", rate=Fraction(rate), options=options)
        except self._errors as error:
            raise self._unwritable(error) from error
        self._stream.width, self._stream.height = size
        self._stream.pix_fmt = "yuv420p"
        context = self._stream.codec_context
        context.colorspace = context.color_primaries = context.color_trc = _ITU_709

    def wants(self, frame: int, last: int) -> bool:
        """All frames."""
        return True

    def put(self, frame: int, pixels: np.ndarray) -> None:
        """Encode the image."""
        image = self._av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels[:, :, :3]), format="rgb24")
        self._encode(image.reformat(format="yuv420p", dst_colorspace=self._colorspace))

    def close(self) -> None:
        """Flush the encoder, and finish the file; raises the error of an earlier image again."""
        try:
            if self._refused:  # FFmpeg crashes when an encoder that could not be opened is flushed (PyAV 19)
                raise self._refused
            self._encode(None)
        finally:
            self._close()

    def _close(self) -> None:
        try:
            self._container.close()
        except self._errors as error:
            raise self._unwritable(error) from error

    def _encode(self, image: object) -> None:
        try:
            self._container.mux(self._stream.encode(image))  # pyright: ignore[reportArgumentType]
        except self._errors as error:
            self._refused = self._unwritable(error)
            raise self._refused from error

    def _unwritable(self, error: Any) -> InputError:
        return InputError(f"{self._path}: the video cannot be written ({error.strerror or error})")


def numbered(path: Path, frame: int) -> Path:
    """The file of one frame, for a name with a number such as %04d in it."""
    return path.with_name(_NUMBER.sub(lambda found: f"{frame:{found[1]}d}", path.name))


def is_numbered(path: Path) -> bool:
    """Whether a file's name has a number such as %04d in it."""
    return _NUMBER.search(path.name) is not None


def require_output(path: Path, size: tuple[int, int], transparent: bool = False) -> None:
    """Raise `InputError` if images of `size` = (width, height) cannot be written to `path`; before any is drawn."""
    kind = path.suffix.lower()
    if kind not in (".png", ".mp4"):
        raise InputError(
            f"{path}: images are written as .png, videos as .mp4, and geometry as {', '.join(export.SUFFIXES)}, not as "
            f"{kind or 'no suffix'}"
        )
    if kind == ".mp4" and (size[0] % 2 or size[1] % 2):
        raise InputError(f"{path}: a video needs an even width and height, got {size[0]}x{size[1]}")
    if kind == ".mp4" and max(size) > LARGEST_VIDEO:
        raise InputError(
            f"{path}: a video has at most {LARGEST_VIDEO} pixels per side, got {size[0]}x{size[1]}; "
            "write numbered images (.png) instead"
        )
    if kind == ".mp4" and transparent:
        raise InputError(f"{path}: a video has no alpha; transparent images are written as .png")
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


def open_output(path: Path, size: tuple[int, int], rate: int, transparent: bool = False) -> Output:
    """The output for a file name: .mp4, .png (the last image), or .png with %d in it (all). Raises `InputError`."""
    require_output(path, size, transparent)
    if path.suffix.lower() == ".mp4":
        return Mp4(path, size, rate)
    return Png(path, transparent, numbered=is_numbered(path))


def save_png(pixels: np.ndarray, path: Path, transparent: bool) -> None:
    """Write an image, (height, width, 4) u8, with its alpha or without. Raises `InputError`."""
    from PIL import Image  # here: the viewer's first image does not wait for it

    try:
        Image.fromarray(pixels if transparent else pixels[:, :, :3]).save(path)
    except OSError as error:
        raise InputError(f"{path}: the image cannot be written ({error.strerror})") from error
