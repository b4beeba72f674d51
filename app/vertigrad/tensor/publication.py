"""`Publication`: a consistent set of tensors that layers may draw."""

from __future__ import annotations

from collections.abc import Iterable

from ..gpu import gpu
from ..memory import Block, LifetimeTracker, Owner
from .tensor import Tensor


class Publication:
    """Marks the blocks of a model's outputs as being drawn.

    Between `publish` and `withdraw` a write to any of them copies first, so that what is drawn is all of one step. A
    model that will finish its step within the frame withdraws before it writes and publishes after: nothing is copied.
    """

    def __init__(self) -> None:
        self._blocks: tuple[Block, ...] = ()  # published now
        self._owners: list[Owner] = []  # whose blocks were looked up last, when so many owners had moved
        self._looked: tuple[LifetimeTracker, int] | None = None
        self._found: tuple[Block, ...] = ()

    def publish(self, tensors: Iterable[Tensor]) -> None:
        """Publish the blocks of `tensors` instead of those published before. Raises `UseAfterFree`."""
        owners, tracker = [tensor.owner for tensor in tensors], gpu().tracker
        looked = tracker, tracker.moves
        if looked != self._looked or owners != self._owners:
            self._found = tuple({owner.block: None for owner in owners})
            self._owners, self._looked = owners, looked
        tracker.publish(self._found)
        before, self._blocks = self._blocks, self._found
        tracker.withdraw(before)

    def withdraw(self) -> None:
        """Nothing is drawn any more. Idempotent."""
        blocks, self._blocks = self._blocks, ()
        gpu().tracker.withdraw(blocks)
