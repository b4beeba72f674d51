"""`TextureMaps`: images of any size as the layers of two arrays, one of colors and one of data."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from ....errors import InputError

LARGEST_SIDE = 1 << 14  # pixels of an image
MOST_BYTES = 1 << 30  # of each array
FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "TGA", "TIFF", "GIF")
_UNREADABLE = (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError)


class _Source(NamedTuple):
    """An image: of which name, its bytes, whether its pixels stay sharp, and its size."""

    name: str
    read: Callable[[], bytes]
    sharp: bool
    size: tuple[int, int]


class TextureMaps:
    """Collects the images of the materials in `path`: `add` returns the layer of one.

    All layers of an array have the size of its largest image, at most `side` pixels; smaller images are enlarged.
    Raises `InputError` for what is no image, and for more than `MOST_BYTES`.
    """

    def __init__(self, path: Path, side: int):
        self._path, self._side = path, side
        self._sources: dict[bool, dict[tuple[object, bool], _Source]] = {True: {}, False: {}}

    def add(self, key: object, name: str, read: Callable[[], bytes], is_color: bool, sharp: bool = False) -> int:
        """The layer of an image that `key` identifies, among the colors or the data; `read` returns its bytes."""
        sources = self._sources[is_color]
        if (key, sharp) not in sources:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", Image.DecompressionBombWarning)
                with self._opened(name, read()) as image:
                    size = image.size
            if max(size) > LARGEST_SIDE:
                raise InputError(f"{self._path}: {name} has {size[0]} x {size[1]} pixels; {LARGEST_SIDE} are the most")
            sources[key, sharp] = _Source(name, read, sharp, size)
        return list(sources).index((key, sharp))

    def array(self, is_color: bool) -> np.ndarray:
        """The images, u8 (count, rows, columns, 4); one white pixel without any."""
        sources = list(self._sources[is_color].values())
        if not sources:
            return np.full((1, 1, 1, 4), 255, np.uint8)
        width, height = (min(max(one.size[axis] for one in sources), self._side) for axis in (0, 1))
        if len(sources) * width * height * 4 > MOST_BYTES:
            raise InputError(
                f"{self._path}: {len(sources)} textures of {width} x {height} pixels are more than {MOST_BYTES >> 20} "
                f"MiB; set texture_size to less than {self._side}"
            )
        layers = np.empty((len(sources), height, width, 4), np.uint8)
        for layer, source in zip(layers, sources, strict=True):
            layer[:] = self._pixels(source, (width, height), is_color)
        return layers

    def _pixels(self, source: _Source, size: tuple[int, int], is_color: bool) -> np.ndarray:
        """Its pixels, scaled. Of data alpha means nothing, and must not weigh the rest."""
        with self._opened(source.name, source.read()) as image:
            try:
                pixels = _eight_bits(image).convert("RGBA" if is_color else "RGB")
                if pixels.size != size:
                    pixels = pixels.resize(size, Image.Resampling.NEAREST if source.sharp else Image.Resampling.BICUBIC)
            except _UNREADABLE as error:
                raise self._unreadable(source.name, error) from error
        return np.asarray(pixels.convert("RGBA"))

    def _opened(self, name: str, data: bytes) -> Image.Image:
        try:
            return Image.open(io.BytesIO(data), formats=FORMATS)
        except _UNREADABLE as error:
            raise self._unreadable(name, error) from error

    def _unreadable(self, name: str, error: Exception) -> InputError:
        why = "no image of a known kind" if isinstance(error, Image.UnidentifiedImageError) else str(error)
        return InputError(f"{self._path}: {name} cannot be read: {why}")


def _eight_bits(image: Image.Image) -> Image.Image:
    """An image of 16 bits in 8."""
    if image.mode.startswith("I"):
        return Image.fromarray(np.uint8(np.round(np.clip(np.asarray(image), 0, 65535) / 257.0)))
    return image
