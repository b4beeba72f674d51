"""Where pictures go: PNG files and MP4 videos."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from fractions import Fraction
from pathlib import Path

import numpy as np
from PIL import Image

from ..errors import InputError

_NUMBERED = re.compile(r"%0?\d*d")


class Output(ABC):
    """Takes the pictures of a run in their order."""

    @abstractmethod
    def put(self, frame: int, picture: np.ndarray) -> None:
        """The picture of `frame` (from 0), (height, width, 4) u8."""

    @abstractmethod
    def close(self) -> None:
        """Everything was put; finish the file."""


class LastPng(Output):
    """One PNG file: the last picture."""

    def __init__(self, path: Path):
        self._path = path
        self._last: np.ndarray | None = None

    def put(self, frame: int, picture: np.ndarray) -> None:
        self._last = picture

    def close(self) -> None:
        if self._last is not None:
            _save(self._last, self._path)


class NumberedPngs(Output):
    """A PNG file for each frame: `frame_%04d.png`."""

    def __init__(self, path: Path):
        self._pattern = str(path)

    def put(self, frame: int, picture: np.ndarray) -> None:
        _save(picture, Path(self._pattern % frame))

    def close(self) -> None:
        """Nothing is left to do."""


class Mp4(Output):
    """An H.264 video. Raises `InputError` for sizes that are not even: chroma is stored for pairs of pixels."""

    def __init__(self, path: Path, size: tuple[int, int], rate: int):
        import av  # here: it takes longer to import than a picture takes to draw

        self._av = av
        if size[0] % 2 or size[1] % 2:
            raise InputError(f"{path}: a video needs an even width and height, got {size[0]}x{size[1]}")
        try:
            self._container = av.open(str(path), "w", options={"movflags": "+faststart"})
        except OSError as error:
            raise InputError(f"{path}: the video cannot be written ({error.strerror})") from error
        self._stream = self._container.add_stream("libx264", rate=Fraction(rate), options={"crf": "16", "preset": "veryfast"})
        self._stream.width, self._stream.height = size
        self._stream.pix_fmt = "yuv420p"

    def put(self, frame: int, picture: np.ndarray) -> None:
        image = self._av.VideoFrame.from_ndarray(np.ascontiguousarray(picture[:, :, :3]), format="rgb24")
        self._container.mux(self._stream.encode(image))

    def close(self) -> None:
        self._container.mux(self._stream.encode(None))
        self._container.close()


def open_output(path: Path, size: tuple[int, int], rate: int) -> Output:
    """The output for a file name: .mp4, .png (the last picture), or .png with %d in it (all). Raises `InputError`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path.parent}: the folder cannot be made ({error.strerror})") from error
    match path.suffix.lower():
        case ".mp4":
            return Mp4(path, size, rate)
        case ".png":
            return NumberedPngs(path) if _NUMBERED.search(path.name) else LastPng(path)
    raise InputError(f"{path}: pictures are written as .png and videos as .mp4, not as {path.suffix or 'no suffix'}")


def _save(picture: np.ndarray, path: Path) -> None:
    try:
        Image.fromarray(picture[:, :, :3]).save(path)
    except OSError as error:
        raise InputError(f"{path}: the picture cannot be written ({error.strerror})") from error
