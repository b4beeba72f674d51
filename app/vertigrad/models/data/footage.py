"""`Footage`: frames that follow each other, in files. Here the interface, and one whose frames are a file each."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Generator, Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from ...errors import InputError

STILLS = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff")
_UNREADABLE = (OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError)  # what Pillow raises


class Footage(ABC):
    """Frames of one size, in an order, each of which begins at a time and stays until the next does.

    `rows` and `columns` are the size, `starts` [s] rise from 0, and `duration` [s] is when the first comes again.
    """

    rows: int
    columns: int
    starts: Sequence[float]
    duration: float

    @abstractmethod
    def frames(self, first: int) -> Generator[np.ndarray, None, None]:
        """Those from number `first` to the end, (rows, columns, 3) u8, as stored. Raises `InputError`.

        Always the same bits for the same number, wherever it begins. Closing the iterator closes the files.
        """

    @property
    def count(self) -> int:
        """How many frames there are."""
        return len(self.starts)

    @property
    def nbytes(self) -> int:
        """Bytes of one frame."""
        return self.rows * self.columns * 3

    def number_at(self, time: float) -> int:
        """Which frame is shown at `time` [s], which begins anew after `duration`.

        Times that are sums of steps fall a little short of a frame's start: they count as reaching it.
        """
        tolerance = 1e-6 * self.duration / self.count
        return bisect_right(self.starts, math.fmod(time + tolerance, self.duration)) - 1


class Stills(Footage):
    """One frame, or all frames of its folder in the order of their names: 2.png comes before 10.png. One a second.

    `columns` is their width, 0 for their own. Raises `InputError` for a file that cannot be read, and for frames of
    different sizes.
    """

    def __init__(self, file: Path, sequence: bool = False, columns: int = 0):
        self.files = _sequence_of(file) if sequence else [file]
        self.starts = range(len(self.files))
        self.duration = float(len(self.files))
        sizes = [scaled(_size(file), columns) for file in self.files]
        self.rows, self.columns = sizes[0]
        for other, size in zip(self.files, sizes, strict=True):
            if size != sizes[0]:
                raise InputError(f"{other} has {_size_text(size)}, but {self.files[0].name} has {_size_text(sizes[0])}")

    def frames(self, first: int) -> Generator[np.ndarray, None, None]:
        for file in self.files[first:]:
            yield self._read(file)

    def _read(self, file: Path) -> np.ndarray:
        try:
            with Image.open(file) as stored:
                upright = ImageOps.exif_transpose(stored)
                shown = _in_color(upright)
        except _UNREADABLE as error:
            raise _unreadable(file, error) from error
        size = self.columns, self.rows
        if scaled((shown.height, shown.width), self.columns) != (self.rows, self.columns):
            raise InputError(f"{file} was changed: it has another size now")
        return np.asarray(shown if shown.size == size else shown.resize(size, Image.Resampling.LANCZOS))


def scaled(size: tuple[int, int], columns: int) -> tuple[int, int]:
    """(rows, columns) of a frame scaled to `columns`; as it is if that is 0."""
    return (max(1, round(size[0] * columns / size[1])), columns) if columns else size


def _sequence_of(file: Path) -> list[Path]:
    """The frames in a file's folder. Links that lead out of it are passed over: a scene reads its own files."""
    folder = file.resolve().parent
    found = [other for other in folder.iterdir() if other.suffix.lower() in STILLS and other.resolve().parent == folder]
    return sorted((other for other in found if other.is_file()), key=_natural)


def _natural(file: Path) -> list[tuple[int, str]]:
    """Sorts numbers in names by their size."""
    parts = re.findall(r"\d+|\D+", file.name.lower())
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _size(file: Path) -> tuple[int, int]:
    try:
        with Image.open(file) as image:
            turned = image.getexif().get(0x0112, 1) >= 5  # EXIF's orientation: lying on a side
            return (image.width, image.height) if turned else (image.height, image.width)
    except _UNREADABLE as error:
        raise _unreadable(file, error) from error


def _in_color(image: Image.Image) -> Image.Image:
    """The frame in 8 bits of red, green and blue; what is transparent is laid over black."""
    if image.mode.startswith("I;16"):
        wide = np.asarray(image).astype(np.float32)
        return Image.fromarray(np.uint8(np.round(wide / 257))).convert("RGB")
    if image.mode in ("I", "F"):
        raise ValueError(f"its pixels are of {image.mode} (32 bits each), which has no white; save it with 8 or 16")
    if not image.has_transparency_data:
        return image.convert("RGB")
    opaque = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", opaque.size, (0, 0, 0, 255)), opaque).convert("RGB")


def _unreadable(file: Path, error: Exception) -> InputError:
    why = "no image of a known kind" if isinstance(error, Image.UnidentifiedImageError) else str(error)
    return InputError(f"{file} cannot be read: {why}")


def _size_text(size: tuple[int, int]) -> str:
    return f"{size[1]} × {size[0]} pixels"
