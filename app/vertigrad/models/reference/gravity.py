"""NumPy reference of the n-body kernels: all-pairs softened gravity.

Units: G = 1. Lengths, masses and times are whatever the caller's numbers mean. Arrays are positions (n, 3) and masses
(n,). Results have the dtype of the positions, float32 or float64.

The potential of a body is -m / sqrt(r^2 + softening^2), a Plummer sphere from outside (Aarseth 1963, MNRAS 126,
223). The force below is its exact gradient, so energy is conserved.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]

PAIRS_PER_BLOCK = 1 << 17  # memory stays at a few MB for any number of bodies


def row_blocks(rows: int, columns: int) -> Iterator[slice]:
    """Blocks of rows that hold at most `PAIRS_PER_BLOCK` pairs."""
    height = max(1, PAIRS_PER_BLOCK // max(1, columns))
    for start in range(0, rows, height):
        yield slice(start, min(start + height, rows))


def offsets_and_squares(targets: Floats, sources: Floats, softening: float) -> tuple[Floats, Floats]:
    """Vectors from each target to each source (b, n, 3) and their softened squared lengths (b, n)."""
    offsets = sources[None, :, :] - targets[:, None, :]
    squares = np.einsum("bnk,bnk->bn", offsets, offsets)
    squares += targets.dtype.type(softening * softening)
    return offsets, squares


def accelerations(positions: Floats, masses: Floats, softening: float, *, at: Floats | None = None) -> Floats:
    """Acceleration a_i = sum_j m_j (x_j - x_i) / (|x_j - x_i|^2 + softening^2)^(3/2), shape (n, 3).

    `at`, shape (m, 3), asks for the field at other points than the bodies themselves; the result is then
    (m, 3). A body pulls itself by exactly zero, so the sum runs over all pairs and `softening` must be above
    zero.
    """
    targets = positions if at is None else at.astype(positions.dtype, copy=False)
    weights = masses.astype(positions.dtype, copy=False)
    result = np.empty_like(targets)
    for rows in row_blocks(len(targets), len(positions)):
        offsets, squares = offsets_and_squares(targets[rows], positions, softening)
        attraction = weights / (squares * np.sqrt(squares))
        result[rows] = np.matmul(attraction[:, None, :], offsets)[:, 0, :]
    return result
