"""The text files of a sparse model: a line each, two for an image; lines with # are comments."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ....errors import InputError
from .binary import Pose
from .cameras import Camera, camera


def cameras(path: Path) -> dict[int, Camera]:
    """Cameras by their numbers. Raises `InputError`, `OSError`."""
    found = {}
    for number, line in _lines(path):
        words = line.split()
        where = f"{path}, line {number}"
        _require(where, len(words) > 4, "expected CAMERA_ID MODEL WIDTH HEIGHT PARAMS")
        (key, width, height), values = _integers(where, words[0], *words[2:4]), _numbers(where, words[4:])
        found[key] = camera(f"{where}: camera {key}", words[1], width, height, values)
    _require(str(path), bool(found), "has no cameras")
    return found


def poses(path: Path) -> list[Pose]:
    """The images; the lines with their points are left out. Raises `InputError`, `OSError`."""
    found, lines = [], _lines(path, blank=True)
    for number, line in lines:
        if not line:
            continue
        where, words = f"{path}, line {number}", line.split(maxsplit=9)
        _require(where, len(words) == 10, "expected IMAGE_ID QW QX QY QZ TX TY TZ CAMERA_ID NAME")
        _, key = _integers(where, words[0], words[8])
        values = _numbers(where, words[1:8])
        found.append(Pose(words[9], values[:4], values[4:], key))
        marks = next(lines, None)
        _require(where, marks is not None and len(marks[1].split()) % 3 == 0, "no line with X Y POINT3D_ID follows")
    return found


def points(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Positions (n, 3), f64, and colors (n, 3), u8. Raises `InputError`, `OSError`."""
    positions, colors = [], []
    for number, line in _lines(path):
        where, words = f"{path}, line {number}", line.split()
        _require(where, len(words) >= 8 and len(words) % 2 == 0, "expected POINT3D_ID X Y Z R G B ERROR TRACK")
        channels = _integers(where, *words[4:7])
        _require(where, all(0 <= one <= 255 for one in channels), "a color is not from 0 to 255")
        positions.append(_numbers(where, words[1:4]))
        colors.append(channels)
    return np.array(positions, float).reshape(-1, 3), np.array(colors, np.uint8).reshape(-1, 3)


def _lines(path: Path, blank: bool = False) -> Iterator[tuple[int, str]]:
    """Numbers and texts of the lines without comments; those without a word only if `blank`."""
    try:
        content = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path}: not a text file of COLMAP: it is not UTF-8") from None
    for number, line in enumerate(content.split("\n"), 1):
        text = line.strip()
        if not text.startswith("#") and (text or blank):
            yield number, text


def _integers(where: str, *words: str) -> tuple[int, ...]:
    try:
        return tuple(int(word) for word in words)
    except ValueError:
        raise InputError(f"{where}: expected an integer, got {' '.join(words)[:80]!r}") from None


def _numbers(where: str, words: list[str]) -> tuple[float, ...]:
    try:
        return tuple(float(word) for word in words)
    except ValueError:
        raise InputError(f"{where}: expected numbers, got {' '.join(words)[:80]!r}") from None


def _require(where: str, condition: bool, message: str) -> None:
    if not condition:
        raise InputError(f"{where}: {message}")
