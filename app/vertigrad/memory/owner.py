"""`Owner`: one owner of a block, shared by a tensor and its views."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import StillInUse, UseAfterFree
from .block import Block, Origin
from .lifetime import LifetimeTracker


class Owner:
    """One owner of a block; the unit of copy-on-write.

    A tensor and its views hold one owner together (`hold`, `drop`), so a write through any of them changes all of them.
    `clone` makes a second owner of the same block; the first of the two that is written moves to a block of its own
    (`move_to`). The handle remembers the generation of its block and raises `UseAfterFree` when that has passed.

    `version` counts the writes that were recorded, eagerly or in a plan. `unset` is why there are no values yet; it
    is empty where there are some.
    """

    __slots__ = ("_block", "_fixed", "_generation", "_tracker", "handles", "name", "origin", "unset", "version")

    def __init__(self, tracker: LifetimeTracker, block: Block, name: str, origin: Origin):
        tracker.own(block)
        self._tracker = tracker
        self._block = block
        self._generation = block.generation
        self.handles = 1
        self.version = 0
        self.unset = ""
        self._fixed = 0  # uses that need it where it is
        self.name = name
        self.origin = origin

    @property
    def block(self) -> Block:
        """The block. Raises `UseAfterFree` once the last handle was closed."""
        block = self._block
        if self.handles and block.generation == self._generation:
            return block
        raise UseAfterFree(f"tensor {self.name or 'unnamed'!r}, created at {self.origin}, {block.fate}")

    def hold(self) -> Owner:
        """One more handle (a view, a plan) on this owner; returns it."""
        self._tracker.require_thread()
        self.block  # noqa: B018  raises if it is gone
        self.handles += 1
        return self

    def drop(self) -> None:
        """One handle less; the last one gives up the block."""
        self._tracker.require_thread()
        if self.handles <= 0:
            raise UseAfterFree(f"tensor {self.name or 'unnamed'!r}, created at {self.origin}, was closed twice")
        self.handles -= 1
        self._tracker.drops += 1
        if not self.handles:
            self._tracker.disown(self._block)

    def clone(self, name: str, origin: Origin) -> Owner:
        """A second owner of the same block: no bytes move."""
        clone = Owner(self._tracker, self.block, name, origin)
        clone.unset = self.unset
        return clone

    @property
    def fixed(self) -> bool:
        """Whether the block must stay, since other code was given its buffer."""
        return self._fixed > 0

    @contextmanager
    def stay(self) -> Iterator[Block]:
        """Own the same block, pinned, for as long as the `with` block runs: a write that has to move it raises."""
        block = self.block
        self._tracker.pin(block)
        self._fixed += 1
        self._tracker.stays += 1
        try:
            yield block
        finally:
            self._fixed -= 1
            self._tracker.stays -= 1
            self._tracker.unpin(block)

    def require_values(self) -> None:
        """Raise `StillInUse` if there are no values to be read yet."""
        if self.unset:
            raise StillInUse(
                f"tensor {self.name or 'unnamed'!r}, created at {self.origin}, has no values: {self.unset}"
            )

    def move_to(self, block: Block) -> None:
        """Own `block` instead, for all handles at once; the old block loses this owner.

        Raises `StillInUse` while the block has to `stay`.
        """
        old = self.block
        self.require_movable()
        self._tracker.own(block)
        self._block, self._generation = block, block.generation
        self._tracker.moves += 1
        self._tracker.disown(old)

    def exchange(self, other: Owner) -> None:
        """Own the block of `other`, and have it own ours, for all handles of both; what must `stay` stays there."""
        ours, theirs = self.block, other.block
        self._block, self._generation = theirs, theirs.generation
        other._block, other._generation = ours, ours.generation
        self._tracker.moves += 1

    def require_movable(self) -> None:
        """Raise `StillInUse` if the block has to `stay`."""
        if self._fixed:
            raise StillInUse(
                f"tensor {self.name or 'unnamed'!r}, created at {self.origin}, cannot be written now: it shares its "
                "block with a clone or a drawn output and would have to move, but its buffer is in use by resource() "
                "or a framework: write it before or after, or open resource(writable=True)"
            )
