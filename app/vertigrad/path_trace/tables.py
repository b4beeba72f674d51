"""`Tables`: arrays of numbers one after the other, as the shader reads them."""

from __future__ import annotations

import numpy as np


class Tables:
    """Numbers in the order in which they were added."""

    def __init__(self) -> None:
        self._parts: list[np.ndarray] = []
        self._count = 0

    def add(self, values: np.ndarray) -> int:
        """Add the elements of an array; returns the number of the first."""
        first = self._count
        self._parts.append(np.ascontiguousarray(values, np.float32).reshape(-1))
        self._count += values.size
        return first

    def concatenated(self) -> np.ndarray:
        """All of them, f32 (n,), at least one."""
        return np.concatenate([*self._parts, np.zeros(1, np.float32)])
