"""`Movable`: whether a medium may move obstacles, known without waiting for the GPU."""

from __future__ import annotations

import numpy as np

from ...gpu import Traffic
from ...tensor import Readback, Tensor
from ..reference.obstacle import HEADER


class Movable:
    """Whether a medium may move any of `placed` obstacles, which begin at `begins`.

    It may unless all were read back, since they were written last, and no medium moves them: they have no mass, or
    another medium moves them. They are read back when they have not been written for a frame.
    """

    def __init__(self, placed: Tensor, begins: list[int]):
        self._placed, self._begins = placed, begins
        self._revision = placed.owner.block.revision
        self._readings: list[Readback] = []
        self._known: bool | None = None
        self._read()
        self._known = self._found()

    def look(self) -> bool:
        """Look at them, once in each frame."""
        revision = self._placed.owner.block.revision
        if revision != self._revision:
            self._revision, self._known, self._readings = revision, None, []
        elif self._known is None and (not self._readings or any(reading.dropped for reading in self._readings)):
            self._read()
        elif self._known is None and all(reading.done for reading in self._readings):
            self._known = self._found()
        return self._known is not False

    def _read(self) -> None:
        self._readings = []
        for begin in self._begins:
            with self._placed[begin : begin + HEADER] as head:
                self._readings.append(head.read_async(Traffic.DIAGNOSTICS))

    def _found(self) -> bool:
        heads = np.stack([reading.result() for reading in self._readings])
        return bool(are_movable(heads).any())


def are_movable(heads: np.ndarray) -> np.ndarray:
    """Which obstacles a medium may move, (n,), by the elements (n, HEADER) that each begins with."""
    return (heads[:, 11] > 0.0) & (heads[:, 35] != 1.0)
