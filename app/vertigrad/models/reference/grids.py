"""Values between the samples of a grid, linear along each axis."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]


def corners(samples: np.ndarray, positions: Doubles) -> Iterator[tuple[tuple[int, ...], np.ndarray, Doubles]]:
    """The eight of samples (nz, ny, nx, ...) around positions (n, 3), x, y, z in samples; the nearest beyond them.

    Of each whether it is the lower (0) or upper (1) along x, y, z, its value (n, ...), and its weight by axis (n, 3).
    """
    last = np.array(samples.shape[2::-1]) - 1
    inner = np.clip(positions, 0.0, last)
    low = inner.astype(int)
    part = inner - low
    for ends in np.ndindex(2, 2, 2):
        x, y, z = np.minimum(low + ends, last).T
        yield ends, samples[z, y, x].astype(float), np.where(ends, part, 1.0 - part)


def interpolated(samples: np.ndarray, positions: Doubles) -> Doubles:
    """The values (n, ...) there."""
    parts = ((found.T * np.prod(weights, axis=1)).T for _, found, weights in corners(samples, positions))
    return sum(parts, np.zeros(()))


def gradient(samples: np.ndarray, positions: Doubles) -> Doubles:
    """The gradient (n, 3) of `interpolated` for samples (nz, ny, nx), per sample."""
    total = np.zeros((len(positions), 3))
    for ends, found, weights in corners(samples, positions):
        for axis in range(3):
            total[:, axis] += (2 * ends[axis] - 1) * found * np.prod(np.delete(weights, axis, axis=1), axis=1)
    return total
