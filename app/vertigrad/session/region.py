"""Parts of an image in which rows are selected: a box, a lasso, or what a round brush has passed over."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..errors import ParameterError

Point = tuple[float, float]
MOST_POINTS = 20_000  # of an outline or a stroke
LARGEST = 16_384  # pixels along a side of the image


def covered(shape: str, points: Sequence[Point], size: tuple[int, int], radius: float = 0.0) -> np.ndarray:
    """Which pixels of an image of `size` a region covers: bool (height, width).

    `shape` is one of `SHAPES`. `points` are x and y in pixels: two corners of a "box", the outline of a "lasso", or the
    path of a "brush" of this `radius` in pixels. A pixel is in an outline, or in reach of the brush, by its middle;
    where an outline crosses itself, by the even-odd rule. Raises `ParameterError`.
    """
    if shape not in SHAPES:
        raise ParameterError(f"shape is {shape!r}; expected {', '.join(SHAPES)}")
    if not all(isinstance(side, int) and 0 < side <= LARGEST for side in size):
        raise ParameterError(f"size is {size!r}; expected width and height of the image, 1 to {LARGEST:,} pixels")
    if not 0 < len(points) <= MOST_POINTS:
        raise ParameterError(f"{len(points):,} points; expected 1 to {MOST_POINTS:,}")
    path = np.asarray(points, np.float64)
    if path.shape != (len(points), 2) or not np.isfinite(path).all() or not 0.0 <= radius < np.inf:
        raise ParameterError("points must be pairs of finite numbers, and the radius a finite number of pixels")
    return SHAPES[shape](path, size, radius)


def _box(corners: np.ndarray, size: tuple[int, int], radius: float) -> np.ndarray:
    low, high = np.floor(corners.min(axis=0)), np.floor(corners.max(axis=0))
    (x, y), mask = _pixels(size), np.zeros(size[::-1], bool)
    mask[np.ix_((y >= low[1]) & (y <= high[1]), (x >= low[0]) & (x <= high[0]))] = True
    return mask


def _lasso(outline: np.ndarray, size: tuple[int, int], radius: float) -> np.ndarray:
    (x, y), mask = (part + 0.5 for part in _pixels(size)), np.zeros(size[::-1], bool)
    for (x0, y0), (x1, y1) in zip(outline, np.roll(outline, -1, axis=0), strict=True):
        crossed = np.flatnonzero((y0 <= y) != (y1 <= y))
        if len(crossed):
            edge = x0 + (y[crossed] - y0) * ((x1 - x0) / (y1 - y0))
            mask[crossed] ^= edge[:, None] <= x
    return mask


def _brush(path: np.ndarray, size: tuple[int, int], radius: float) -> np.ndarray:
    (x, y), mask = (part + 0.5 for part in _pixels(size)), np.zeros(size[::-1], bool)
    for first, last in zip(path, path[1:] if len(path) > 1 else path, strict=False):
        low, high = np.minimum(first, last) - radius, np.maximum(first, last) + radius
        columns = slice(*np.searchsorted(x, (low[0], high[0])))
        rows = slice(*np.searchsorted(y, (low[1], high[1])))
        along, dx, dy = last - first, x[columns] - first[0], y[rows, None] - first[1]
        length = max(float(along @ along), 1e-12)
        part = np.clip((dx * along[0] + dy * along[1]) / length, 0.0, 1.0)
        mask[rows, columns] |= np.hypot(dx - part * along[0], dy - part * along[1]) <= radius
    return mask


def _pixels(size: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(size[0]), np.arange(size[1])


SHAPES: dict[str, Callable[[np.ndarray, tuple[int, int], float], np.ndarray]] = {
    "box": _box,
    "lasso": _lasso,
    "brush": _brush,
}
