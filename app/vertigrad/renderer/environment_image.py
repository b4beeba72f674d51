"""`read`: an equirectangular image of the light from around, from a Radiance or OpenEXR file."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from .environment_header import DEMUXERS, size_in_header

SUFFIXES = tuple(DEMUXERS)
LARGEST_SIDE = 1 << 14  # pixels
CUBE_SIDE = 512  # rows of an image from which the maps are computed; larger ones are averaged
MOST_LIGHT = 6e4  # a half float holds more, but not the sum of several


def read(path: Path) -> np.ndarray:
    """Linear light, f32 (rows, columns, 3); values that are not finite are 0. The last two images are cached.

    Raises `InputError` for a file that is no such image.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    return _read(path, status.st_mtime_ns, status.st_size)


def smaller(image: np.ndarray) -> np.ndarray:
    """The image with at most `CUBE_SIDE` rows, averaged, so that no texel is left out."""
    step = max(1, -(-image.shape[0] // CUBE_SIDE))
    rows, columns = (size // step * step for size in image.shape[:2])
    blocks = image[:rows, :columns].reshape(rows // step, step, columns // step, step, 3)
    return blocks.mean(axis=(1, 3), dtype=np.float32)


@lru_cache(2)
def _read(path: Path, _changed: int, _size: int) -> np.ndarray:
    try:
        with path.open("rb") as file:
            width, height = size_in_header(file, path)
            if not 0 < max(width, height) <= LARGEST_SIDE or min(width, height) < 2:
                raise InputError(f"{path}: has {width:,} x {height:,} pixels; 2 to {LARGEST_SIDE:,} are read")
            file.seek(0)
            pixels = _decoded(file, path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    if pixels.shape != (height, width, 3):
        raise InputError(f"{path}: damaged: its pixels are {pixels.shape[1]} x {pixels.shape[0]}, not as it says")
    return np.clip(np.nan_to_num(pixels, posinf=MOST_LIGHT, neginf=0.0), 0.0, MOST_LIGHT)


def _decoded(file: Any, path: Path) -> np.ndarray:
    """The pixels, f32. Of an open file, with its format named: nothing in it can name another file to read."""
    import av  # takes a tenth of a second
    from av.error import FFmpegError

    try:
        opened: Any = av.open(file, "r", format=DEMUXERS[path.suffix.lower()])
        with opened as container:
            frame: Any = next(container.decode(container.streams.video[0]))
    except (FFmpegError, IndexError, StopIteration, ValueError) as error:
        raise InputError(f"{path}: cannot be read as an image of light ({error})") from error
    if not frame.format.name.startswith(("gbrp", "gbrap")) or "f32" not in frame.format.name:
        raise InputError(f"{path}: its pixels are {frame.format.name}; an image of light has floats: .hdr or .exr")
    return frame.to_ndarray()[..., :3].astype(np.float32)
