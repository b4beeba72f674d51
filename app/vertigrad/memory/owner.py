"""`Owner`: one owner of a block, shared by a tensor and its views."""

from __future__ import annotations

from ..errors import UseAfterFree
from .block import Block, Origin
from .lifetime import LifetimeTracker


class Owner:
    """One owner of a block; the unit of copy-on-write.

    A tensor and its views hold one owner together (`hold`, `drop`), so a write through any of them is seen by all.
    `clone` makes a second owner of the same block; the first of the two that is written moves to a block of its own
    (`move_to`). The handle remembers the generation of its block and raises `UseAfterFree` when that has passed.
    """

    __slots__ = ("_block", "_generation", "_tracker", "handles", "name", "origin", "writes")

    def __init__(self, tracker: LifetimeTracker, block: Block, name: str, origin: Origin):
        tracker.own(block)
        self._tracker = tracker
        self._block = block
        self._generation = block.generation
        self.handles = 1
        self.writes = 0  # how many dispatches that write it were added to plans
        self.name = name
        self.origin = origin

    @property
    def block(self) -> Block:
        """The block. Raises `UseAfterFree` once the last handle was closed."""
        block = self._block
        if self.handles and block.generation == self._generation:
            return block
        raise UseAfterFree(
            f"tensor {self.name or 'unnamed'!r}, made at {self.origin}, was freed in frame {block.freed_frame}; "
            "keep a clone() if it is needed longer"
        )

    def hold(self) -> Owner:
        """One more handle (a view, a plan) on this owner; returns it."""
        self.block  # noqa: B018  raises if it is gone
        self.handles += 1
        return self

    def drop(self) -> None:
        """One handle less; the last one gives up the block."""
        if self.handles <= 0:
            raise UseAfterFree(f"tensor {self.name or 'unnamed'!r}, made at {self.origin}, was closed twice")
        self.handles -= 1
        self._tracker.drops += 1
        if not self.handles:
            self._tracker.disown(self._block)

    def clone(self, name: str, origin: Origin) -> Owner:
        """A second owner of the same block: no bytes move."""
        return Owner(self._tracker, self.block, name, origin)

    def move_to(self, block: Block) -> None:
        """Own `block` instead, for all handles at once; the old block loses this owner."""
        old = self.block
        self._tracker.own(block)
        self._block, self._generation = block, block.generation
        self._tracker.moves += 1
        self._tracker.disown(old)
