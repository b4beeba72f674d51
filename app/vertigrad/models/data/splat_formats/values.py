"""`Splats`: what every format of Gaussian splats has; the limit of what a file may claim; and shared formulas."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ....errors import InputError
from ....progress import report

FIRST_HARMONIC = 0.28209479177387814  # 1 / (2 sqrt(pi))
HARMONICS = (0, 9, 24, 45)  # values of a row of `harmonics`, by degree
MOST_SPLATS = 1 << 26
PIECE = 1 << 18  # rows that are converted at a time


class Splats(NamedTuple):
    """Gaussian splats, as f32 arrays.

    `position` (n, 3); `scale` (n, 3), standard deviations; `rotation` (n, 4), quaternions x, y, z, w of length 1;
    `opacity` (n,), 0 to 1; `color` (n, 3), sRGB, of the harmonic of degree 0; `harmonics` (n, 0, 9, 24 or 45), those of
    degree 1 and above: red, green and blue of each. `antialiased` splats were trained with the filter of Yu et al.
    2024, "Mip-Splatting". `dropped` rows of the file were not finite.
    """

    position: np.ndarray
    scale: np.ndarray
    rotation: np.ndarray
    opacity: np.ndarray
    color: np.ndarray
    harmonics: np.ndarray
    antialiased: bool = False
    dropped: int = 0

    @property
    def named(self) -> dict[str, np.ndarray]:
        """The arrays by their names, in their order."""
        return {name: value for name, value in self._asdict().items() if isinstance(value, np.ndarray)}

    def rows(self, chosen: np.ndarray) -> Splats:
        """Some of the splats, by a mask or by their numbers."""
        return self._replace(**{name: array[chosen] for name, array in self.named.items()})

    def is_finite(self) -> np.ndarray:
        """Whether all values of each row are finite, bool (n,)."""
        found = np.ones(len(self.position), bool)
        for array in self.named.values():
            found &= np.isfinite(array.reshape(len(array), -1) if array.size else array).all(axis=1)
        return found


def no_harmonics(count: int) -> np.ndarray:
    """Those of `count` splats whose color is the same from all sides."""
    return np.empty((count, 0), np.float32)


def require_count(path: Path, count: int) -> None:
    """Raise `InputError` for a file without splats, or with more than `MOST_SPLATS`."""
    if not 0 < count <= MOST_SPLATS:
        what = f"has {count:,} splats; at most {MOST_SPLATS:,} can be read" if count else "has no splats"
        raise InputError(f"{path}: {what}")


def in_pieces(path: Path, rows: np.ndarray, read: Callable[[np.ndarray], Splats]) -> Splats:
    """What `read` makes of the rows of a file, `PIECE` at a time, with reports of how far it has come."""
    parts = []
    for first in range(0, len(rows), PIECE):
        report(f"reading {path.name}", first, len(rows))
        parts.append(read(rows[first : first + PIECE]))
    names = parts[0].named
    return parts[0]._replace(**{name: np.concatenate([part.named[name] for part in parts]) for name in names})


def sigmoid(values: np.ndarray) -> np.ndarray:
    """The logistic function, f32."""
    with np.errstate(over="ignore"):
        return (1.0 / (1.0 + np.exp(-values))).astype(np.float32)


def logit(opacity: np.ndarray) -> np.ndarray:
    """The inverse of the logistic function, for values kept a millionth away from 0 and 1; f32."""
    chance = np.clip(np.asarray(opacity, np.float64), 1e-6, 1.0 - 1e-6)
    return np.log(chance / (1.0 - chance)).astype(np.float32)


def log_scale(scale: np.ndarray) -> np.ndarray:
    """Logarithms of standard deviations, f32; those of 0 are finite."""
    return np.log(np.maximum(np.asarray(scale, np.float32), 1e-30))


def unit(rotation: np.ndarray) -> np.ndarray:
    """Quaternions of length 1, f32; NaN for those of length 0."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return (rotation / np.linalg.norm(rotation, axis=1, keepdims=True)).astype(np.float32)
