"""The parts of an OpenVDB file that are the same in all grids: numbers, texts, maps to space, and compressed values.

The layout is that of OpenVDB's own writer, file versions 222 (3.0) to 224; nothing of it is published but the source
(https://github.com/AcademySoftwareFoundation/openvdb: io/Archive.cc, io/Compression.h, math/Maps.h, version 10).
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np

from ....errors import InputError
from ..point_formats.table import needed

ZIP, ACTIVE_ONLY, BLOSC = 1, 2, 4  # bits of a grid's compression
# What is known of a node's inactive values: the first two have one, the background or its negative.
BACKGROUND, NEGATIVE, ONE, NEGATIVE_OR_BACKGROUND, ONE_OR_BACKGROUND, TWO, ALL_STORED = range(7)
PADDED = 128  # bytes to which fewer ones are filled up before Blosc compresses them
SCALES = {"UniformScaleMap": False, "ScaleMap": False, "UniformScaleTranslateMap": True, "ScaleTranslateMap": True}


class VdbStream:
    """The bytes of a file, read from `position` on. All methods raise `InputError` where they end too early."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path, self.position, self.compression = path, 0, 0
        self._data = memoryview(data)

    def bytes(self, count: int) -> memoryview:
        """The next bytes."""
        end = self.position + count
        if count < 0 or not 0 <= self.position <= end <= len(self._data):
            raise InputError(f"{self.path}: ends within its data, or names a position that is not in it; it is damaged")
        found = self._data[self.position : end]
        self.position = end
        return found

    def integers(self, form: str) -> tuple[int, ...]:
        """Integers by the letters of `struct`, little-endian."""
        return struct.unpack("<" + form, self.bytes(struct.calcsize("<" + form)))

    def text(self) -> str:
        """A text with its length."""
        return bytes(self.bytes(self.integers("I")[0])).decode("utf-8", "replace")

    def metadata(self) -> dict[str, bytes]:
        """A table of values by name, as stored."""
        found = {}
        for _ in range(self.integers("I")[0]):
            name, _ = self.text(), self.text()
            found[name] = bytes(self.bytes(self.integers("I")[0]))
        return found

    def affine(self) -> np.ndarray:
        """The matrix (4, 4) from indices to positions of a grid."""
        kind = self.text()
        affine = np.eye(4)
        if kind in SCALES:
            if SCALES[kind]:
                affine[:3, 3] = np.frombuffer(self.bytes(24), "<f8")
            affine[:3, :3] = np.diag(np.frombuffer(self.bytes(24), "<f8"))
            self.bytes(4 * 24)  # sizes and inverses, which follow from the scale
        elif kind == "TranslationMap":
            affine[:3, 3] = np.frombuffer(self.bytes(24), "<f8")
        elif kind in ("AffineMap", "UnitaryMap"):
            affine = np.frombuffer(self.bytes(128), "<f8").reshape(4, 4).T.copy()  # stored for row vectors
            affine[3] = 0.0, 0.0, 0.0, 1.0
        else:
            raise InputError(f"{self.path}: its cells are on a {kind}, which is not supported; resample it to cubes")
        return affine

    def mask(self, count: int) -> np.ndarray:
        """Bits, (count,)."""
        return np.unpackbits(np.frombuffer(self.bytes(count // 8), np.uint8), bitorder="little").astype(bool)

    def values(self, active: np.ndarray, dtype: np.dtype, stored: np.dtype, background: np.ndarray) -> np.ndarray:
        """The values of a node, (count,); `active` says which of them are, `stored` is the type in the file."""
        (kind,) = self.integers("b")
        if not BACKGROUND <= kind <= ALL_STORED:
            raise InputError(f"{self.path}: a node has inactive values of an unknown kind, {kind}; it is damaged")
        first, second = background, background
        if kind in (NEGATIVE, NEGATIVE_OR_BACKGROUND):
            first = -background
        elif kind in (ONE, ONE_OR_BACKGROUND, TWO):
            first = np.frombuffer(self.bytes(dtype.itemsize), dtype)[0]
        if kind == TWO:
            second = np.frombuffer(self.bytes(dtype.itemsize), dtype)[0]
        two = kind in (NEGATIVE_OR_BACKGROUND, ONE_OR_BACKGROUND, TWO)
        is_second = self.mask(len(active)) if two else np.zeros(len(active), bool)
        if not self.compression & ACTIVE_ONLY or kind == ALL_STORED:
            return self._array(len(active), stored).astype(dtype)
        found = np.where(is_second, second, first).astype(dtype)
        found[active] = self._array(int(active.sum()), stored)
        return found

    def _array(self, count: int, dtype: np.dtype) -> np.ndarray:
        size = count * dtype.itemsize
        if not self.compression & (ZIP | BLOSC) or (
            not count and dtype.itemsize == 2
        ):  # no values of half have no length
            return np.frombuffer(self.bytes(size), dtype)
        (length,) = self.integers("q")
        if length <= 0 or not count:
            packed = self.bytes(abs(length))[:size]
        elif self.compression & BLOSC:
            packed = self._by_blosc(self.bytes(length), size)
        else:
            try:
                packed = zlib.decompressobj().decompress(self.bytes(length), size + 1)
            except zlib.error as error:
                raise InputError(f"{self.path}: its compressed data is damaged ({error})") from error
        if len(packed) != size:
            raise InputError(f"{self.path}: a node has {len(packed)} bytes of values instead of {size}; it is damaged")
        return np.frombuffer(packed, dtype)

    def _by_blosc(self, packed: memoryview, size: int) -> bytes:
        blosc = needed(self.path, "numcodecs.blosc", "volumes", "a VDB file compressed by Blosc")
        claims, block = struct.unpack_from("<II", packed, 4) if len(packed) >= 16 else (0, 0)
        if not size <= claims <= max(size, PADDED) or not 0 < block <= claims:
            raise InputError(f"{self.path}: its compressed data is damaged")
        try:
            return bytes(blosc.decompress(bytes(packed)))[:size]
        except (RuntimeError, ValueError) as error:
            raise InputError(f"{self.path}: its compressed data is damaged ({error})") from error
