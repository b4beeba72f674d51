"""Values packed into few bits, as compressed formats of splats have them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

ROOT = 0.5**0.5  # the largest value of a component of a unit quaternion that is not its largest one


def packed_units(units: np.ndarray, bits: Sequence[int]) -> np.ndarray:
    """Numbers from 0 to 1 (n, k) rounded to `bits` of each, the first of them uppermost in a u32 (n,)."""
    found = np.zeros(len(units), np.uint32)
    for column, width in zip(np.asarray(units, np.float64).T, bits, strict=True):
        most = (1 << width) - 1
        found = (found << np.uint32(width)) | np.round(np.clip(column, 0.0, 1.0) * most).astype(np.uint32)
    return found


def unpacked_units(packed: np.ndarray, bits: Sequence[int]) -> np.ndarray:
    """The numbers from 0 to 1, f32 (n, k), that `packed_units` has packed; further bits above are ignored."""
    found = np.empty((len(packed), len(bits)), np.float32)
    shift = 0
    for column in reversed(range(len(bits))):
        most = (1 << bits[column]) - 1
        found[:, column] = ((packed >> np.uint32(shift)) & np.uint32(most)) / np.float32(most)
        shift += bits[column]
    return found


def smallest_three(quaternions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The index of the largest component of unit quaternions, u32 (n,), and the others in their order (n, 3).

    They are of the quaternion or its opposite, which is the same rotation: of the one whose largest component is
    positive.
    """
    largest = np.argmax(np.abs(quaternions), axis=1)
    row = np.arange(len(quaternions))
    sign = np.where(quaternions[row, largest] < 0.0, -1.0, 1.0)[:, None]
    return largest.astype(np.uint32), np.take_along_axis(quaternions * sign, _others(largest), axis=1)


def from_smallest_three(largest: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The inverse of `smallest_three`: unit quaternions, f32 (n, 4)."""
    found = np.empty((len(others), 4), np.float32)
    np.put_along_axis(found, _others(largest), others.astype(np.float32), axis=1)
    rest = np.sqrt(np.maximum(0.0, 1.0 - (others * others).sum(axis=1)))
    found[np.arange(len(others)), largest] = rest
    return found


def _others(largest: np.ndarray) -> np.ndarray:
    """The indices 0 to 3 without one, (n, 3)."""
    indices = np.arange(3)[None, :]
    return indices + (indices >= largest[:, None])


def to_bytes(values: np.ndarray) -> np.ndarray:
    """Rounded to bytes, those out of range to 0 or 255."""
    return np.clip(np.round(values), 0, 255).astype(np.uint8)
