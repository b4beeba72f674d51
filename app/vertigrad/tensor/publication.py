"""`Publication`: a consistent set of tensors that layers may draw."""

from __future__ import annotations

from collections.abc import Iterable

from ..gpu import gpu
from ..memory import Block
from .tensor import Tensor


class Publication:
    """Marks the blocks of a model's outputs as being drawn.

    Between `publish` and `withdraw` a write to any of them copies first, so that what is drawn is all of one step. A
    model that will finish its step within the frame withdraws before it writes and publishes after: nothing is copied.
    """

    def __init__(self) -> None:
        self._blocks: tuple[Block, ...] = ()

    def publish(self, tensors: Iterable[Tensor]) -> None:
        """Publish the blocks of `tensors` in place of those published before."""
        blocks = tuple({tensor.block: None for tensor in tensors})
        tracker = gpu().tracker
        for block in blocks:
            tracker.publish(block)
        self.withdraw()
        self._blocks = blocks

    def withdraw(self) -> None:
        """Nothing is drawn any more. Idempotent."""
        blocks, self._blocks = self._blocks, ()
        tracker = gpu().tracker
        for block in blocks:
            tracker.withdraw(block)
