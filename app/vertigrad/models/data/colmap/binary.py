"""The binary files of a sparse model: little endian, without padding."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ....errors import InputError
from .cameras import NUMBERED, Camera, camera

LONGEST_NAME = 4096  # bytes
CAMERA, POSE, POINT = struct.Struct("<iiQQ"), struct.Struct("<i4d3di"), struct.Struct("<Q3d3BdQ")
COUNT = struct.Struct("<Q")
MARK_BYTES, TRACK_BYTES = 24, 8  # of a point in an image; of an image that a point is seen in


class Pose(NamedTuple):
    """An image as a file has it: its quaternion is w, x, y, z."""

    name: str
    quaternion: tuple[float, ...]
    translation: tuple[float, ...]
    camera: int


class _Bytes:
    """What is left of a file. Raises `InputError` where it ends too early."""

    def __init__(self, path: Path):
        self._path, self._data, self._at = path, path.read_bytes(), 0

    def take(self, layout: struct.Struct) -> tuple:
        self.require(layout.size)
        values = layout.unpack_from(self._data, self._at)
        self._at += layout.size
        return values

    def count(self, each: int) -> int:
        """A count of things that have at least `each` bytes."""
        (found,) = self.take(COUNT)
        self.require(found * each)
        return found

    def skip(self, count: int) -> None:
        self.require(count)
        self._at += count

    def name(self) -> str:
        end = self._data.find(b"\0", self._at, self._at + LONGEST_NAME)
        if end < 0:
            raise InputError(f"{self._path}: the name of an image does not end")
        found, self._at = self._data[self._at : end], end + 1
        try:
            return found.decode("utf-8")
        except UnicodeDecodeError:
            raise InputError(f"{self._path}: the name of an image is not UTF-8") from None

    def require(self, count: int) -> None:
        if count > len(self._data) - self._at:
            raise InputError(f"{self._path}: truncated, or not a file of COLMAP: it has {len(self._data):,} bytes")

    def end(self) -> None:
        if self._at != len(self._data):
            left = len(self._data) - self._at
            raise InputError(f"{self._path}: not a file of COLMAP: {left:,} bytes follow what it describes")


def cameras(path: Path) -> dict[int, Camera]:
    """Cameras by their numbers. Raises `InputError`, `OSError`."""
    file, found = _Bytes(path), {}
    for _ in range(file.count(CAMERA.size)):
        number, model, width, height = file.take(CAMERA)
        if not 0 <= model < len(NUMBERED):
            raise InputError(f"{path}: camera {number} is of a model with the number {model}, which is not known")
        name, count = NUMBERED[model]
        values = file.take(struct.Struct(f"<{count}d"))
        found[number] = camera(f"{path}: camera {number}", name, width, height, values)
    file.end()
    return found


def poses(path: Path) -> list[Pose]:
    """The images. Raises `InputError`, `OSError`."""
    file, found = _Bytes(path), []
    for _ in range(file.count(POSE.size + 1 + COUNT.size)):
        values = file.take(POSE)
        found.append(Pose(file.name(), values[1:5], values[5:8], values[8]))
        file.skip(MARK_BYTES * file.count(MARK_BYTES))
    file.end()
    return found


def points(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Positions (n, 3), f64, and colors (n, 3), u8. Raises `InputError`, `OSError`."""
    file = _Bytes(path)
    count = file.count(POINT.size)
    positions, colors = np.empty((count, 3)), np.empty((count, 3), np.uint8)
    for number in range(count):
        values = file.take(POINT)
        positions[number], colors[number] = values[1:4], values[4:7]
        file.skip(TRACK_BYTES * values[8])
    file.end()
    return positions, colors
