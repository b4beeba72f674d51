"""`Upload`: arrays of files brought to the GPU a part at a time, before the models that take them are built."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...gpu import gpu
from ...tensor import Tensor

_uploaded: dict[int, tuple[np.ndarray, Tensor]] = {}  # by the array's id: each is held, so that it stays its own


class Upload:
    """Arrays of f32 or u32 on their way; `close` it when their models are built, or none is going to be."""

    def __init__(self, arrays: Iterable[np.ndarray]):
        self._arrays = [array for array in arrays if array.size and array.flags.c_contiguous]
        self.total = sum(array.nbytes for array in self._arrays)
        self.done = 0  # bytes
        self._waiting = list(reversed(self._arrays))
        self._current: Tensor | None = None
        self._at = 0  # bytes of the current array

    def proceed(self, nbytes: int) -> bool:
        """Upload `nbytes` more, a multiple of 4; returns whether all is there. Raises `OutOfMemory`, `LimitError`."""
        while self._waiting and nbytes > 0:
            array = self._waiting[-1]
            if self._current is None:
                self._current, self._at = Tensor.empty(array.shape, array.dtype, "uploaded"), 0
            data = memoryview(array.reshape(-1).view(np.uint8))[self._at : self._at + nbytes]
            gpu().upload(self._current.block.buffer, data, self._at, unused=True)
            self._at, self.done, nbytes = self._at + data.nbytes, self.done + data.nbytes, nbytes - data.nbytes
            if self._at == array.nbytes:
                _uploaded[id(array)] = array, self._current
                self._waiting.pop()
                self._current = None
        return not self._waiting

    def close(self) -> None:
        """Release what no model has taken. Idempotent."""
        if self._current is not None:
            self._current.close()
        for array in self._arrays:
            if id(array) in _uploaded:
                _uploaded.pop(id(array))[1].close()
        self._arrays, self._waiting, self._current = [], [], None


def taken(array: np.ndarray) -> Tensor | None:
    """The tensor of an array that was uploaded: the caller's own from now on. None if it was not."""
    found = _uploaded.pop(id(array), None)
    return None if found is None else found[1]
