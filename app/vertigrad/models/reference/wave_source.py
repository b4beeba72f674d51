"""The waves of `WaveSource` in NumPy, float64: what receivers hear, and how that depends on how the water began."""

from __future__ import annotations

import numpy as np


def heard(start: np.ndarray, medium: np.ndarray, receiver_cells: np.ndarray, steps: int) -> np.ndarray:
    """Heights (steps, receivers) at the cells `receiver_cells` of water (side, side) that begins at rest as `start`."""
    old, now = start, start
    found = np.empty((steps, len(receiver_cells)))
    for step in range(steps):
        old, now = stepped(old, now, medium)
        found[step] = now.reshape(-1)[receiver_cells]
    return found


def stepped(old: np.ndarray, now: np.ndarray, medium: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Heights now, and a step later."""
    reach, loss = medium[..., 0], medium[..., 1]
    return now, (2.0 * now - (1.0 - loss) * old + reach * spread(now)) / (1.0 + loss)


def spread(height: np.ndarray) -> np.ndarray:
    """The sum of the differences to four neighbors; none beyond the edge."""
    around = np.pad(height, 1, mode="edge")
    return around[2:, 1:-1] + around[:-2, 1:-1] + around[1:-1, 2:] + around[1:-1, :-2] - 4.0 * height


def gradients(gradient: np.ndarray, medium: np.ndarray, receiver_cells: np.ndarray) -> np.ndarray:
    """The gradient by the start from that by what was heard: the same steps transposed, the last one first."""
    side = len(medium)
    reach, loss = medium[..., 0], medium[..., 1]
    old, now = np.zeros((side, side)), np.zeros((side, side))
    for row in gradient[::-1]:
        np.add.at(now.reshape(-1), receiver_cells, row)
        part = now / (1.0 + loss)
        old, now = -(1.0 - loss) * part, old + 2.0 * part + spread(reach * part)
    return old + now


def blurred(plane: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """`plane` smoothed by `kernel` along both axes, with zeros around it; its own transpose, as kernel are even."""
    for axis in (0, 1):
        plane = np.apply_along_axis(lambda line: np.convolve(line, kernel, "same"), axis, plane)
    return plane
