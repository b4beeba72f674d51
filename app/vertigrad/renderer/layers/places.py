"""`Places`: the blocks of tensors now."""

from __future__ import annotations

from collections.abc import Iterable

from ...gpu import Gpu
from ...memory import Block
from ...tensor import Tensor


class Places:
    """Looks up blocks, which takes longer than drawing, only when some tensor has been moved or closed."""

    def __init__(self, gpu: Gpu, tensors: Iterable[Tensor]):
        self._tracker = gpu.tracker
        self.tensors = tuple(tensors)
        self._moves = self._drops = -1
        self._found: list[Block] = []

    @property
    def blocks(self) -> list[Block]:
        """Each once: the same list as the last time if they are the same. Raises `UseAfterFree`."""
        tracker = self._tracker
        if self._moves != tracker.moves or self._drops != tracker.drops:
            found = list(dict.fromkeys([tensor.block for tensor in self.tensors]))
            if found != self._found:
                self._found = found
            self._moves, self._drops = tracker.moves, tracker.drops
        return self._found
