"""The cells of `NcaFit` in NumPy, float64: how they grow, and how what they become depends on their rule."""

from __future__ import annotations

import numpy as np


def differences(plane: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sobel's differences along x and z of (side, side, n), divided by 8; beyond the edge everything is 0."""
    around = np.pad(plane, [(1, 1), (1, 1), (0, 0)])
    down = around[:-2] + 2.0 * around[1:-1] + around[2:]
    along = around[:, :-2] + 2.0 * around[:, 1:-1] + around[:, 2:]
    return (down[:, 2:] - down[:, :-2]) / 8.0, (along[2:] - along[:-2]) / 8.0


def perceived(state: np.ndarray) -> np.ndarray:
    """What cells (side, side, n) see, (side, side, 3 n)."""
    return np.concatenate([state, *differences(state)], axis=-1)


def grown(state: np.ndarray, first: np.ndarray, second: np.ndarray, steps: int) -> list[np.ndarray]:
    """The states after 0 to `steps` steps."""
    found = [state]
    for _ in range(steps):
        inside = perceived(found[-1]) @ first.T
        found.append(found[-1] + inside / (1.0 + np.exp(-inside)) @ second.T)
    return found


def gradients(
    states: list[np.ndarray], gradient: np.ndarray, first: np.ndarray, second: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The gradients by both layers from that by the last of `states`."""
    by_first, by_second = np.zeros_like(first), np.zeros_like(second)
    for state in states[-2::-1]:
        perception = perceived(state)
        inside = perception @ first.T
        sigmoid = 1.0 / (1.0 + np.exp(-inside))
        by_second += np.einsum("ijm,ijn->mn", gradient, inside * sigmoid)
        back = gradient @ second * sigmoid * (1.0 + inside * (1.0 - sigmoid))
        by_first += np.einsum("ijm,ijn->mn", back, perception)
        own, along, down = np.split(back @ first, 3, axis=-1)
        gradient = gradient + own - differences(along)[0] - differences(down)[1]
    return by_first, by_second
