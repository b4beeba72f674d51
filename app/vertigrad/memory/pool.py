"""`BufferPool`: creates, reuses and frees blocks by size class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from ..errors import LimitError, OutOfMemory, StillInUse
from .block import UNKNOWN, Block, Origin, State
from .borrow import Borrow
from .lifetime import LifetimeTracker

T = TypeVar("T")

SMALLEST = 256
KEEP_FREE = 64 << 20  # bytes of free blocks always cached for reuse; beyond it, as much again as is live


class Storage(Protocol):
    """Where the bytes come from."""

    largest: int

    def allocate(self, nbytes: int) -> Any:
        """Make a buffer of `nbytes`; raises `MemoryError` if there is no room."""

    def allocate_shared(self, nbytes: int) -> Any:
        """Make a buffer whose memory other frameworks can be given; raises `MemoryError`."""

    def destroy(self, buffer: Any) -> None:
        """Give a buffer back."""


def size_class(nbytes: int) -> int:
    """The capacity used for `nbytes`: eight classes an octave, so at most 12.5 % is unused; 256 bytes at least."""
    if nbytes <= SMALLEST:
        return SMALLEST
    step = 1 << ((nbytes - 1).bit_length() - 4)
    return -(-nbytes // step) * step


class BufferPool:
    """Hands out blocks and takes them back; nothing else destroys buffers.

    `budget` bounds the bytes held on the GPU, free blocks included. `reclaim` is called when memory is short: it is to
    finish what the GPU still does, so that retiring blocks become free; its argument says whether it may submit what is
    recorded. `spill` is called when that was not enough: it is to let go of what nobody needs, such as snapshots.
    """

    def __init__(self, storage: Storage, tracker: LifetimeTracker, budget: int | None = None):
        self._storage = storage
        self._tracker = tracker
        self._free: dict[tuple[int, bool], list[Block]] = {}  # by capacity, and whether exported
        self.budget = budget
        self.reclaim: Callable[[bool], None] = lambda submit: None
        self.spill: Callable[[], None] = lambda: None
        self.held_bytes = 0
        self.free_bytes = 0
        self.peak_bytes = 0
        self.taken_bytes = 0  # handed out so far, reused blocks included
        tracker.on_free = self._put

    def take(self, nbytes: int, name: str = "", origin: Origin = UNKNOWN, exported: bool = False) -> Block:
        """A live block of at least `nbytes`, which the caller must own or pin at once; `exported` if shared memory.

        Raises `LimitError` if no buffer can be that large and `OutOfMemory` if there is no room for it.
        """
        self._tracker.collect()
        return self._activate(self._block_of(size_class(nbytes), nbytes, name, exported), nbytes, name, origin)

    def borrow(self, borrow: Borrow, name: str = "", origin: Origin = UNKNOWN) -> Block:
        """A live block over borrowed host memory; it takes no GPU memory until `move_storage` is called."""
        self._tracker.collect()
        block = self._activate(Block(0, None), borrow.nbytes, name, origin)
        block.borrow = borrow
        return block

    def reserve(self, nbytes: int, name: str = "", origin: Origin = UNKNOWN) -> Block:
        """A live block of `nbytes` that has no memory until `commit` is called. Raises `LimitError`."""
        self._require_possible(nbytes, name)
        return self._activate(Block(0, None), nbytes, name, origin)

    def commit(self, block: Block) -> None:
        """Allocate the memory of a reserved block. Raises `OutOfMemory`."""
        self._tracker.collect()
        donor = self._block_of(size_class(block.nbytes), block.nbytes, block.name, False)
        self.move_storage(block, donor)
        del self._tracker.blocks[donor.id]

    def move_storage(self, block: Block, donor: Block) -> None:
        """Move the memory of `donor`, a block taken for it, to a borrowed or reserved block."""
        if block.storage is not None:
            raise StillInUse(f"{block!r} has GPU memory of its own")
        block.storage, block.capacity = donor.storage, donor.capacity
        donor.storage, donor.capacity = None, 0

    def trim(self, keep: int = 0) -> None:
        """Destroy free blocks, largest first, until at most `keep` bytes of them are left."""
        while self.free_bytes > keep:
            self._destroy(self._free[max(self._free)].pop())

    def limit(self, budget: int) -> None:
        """Bound the bytes held from here on. What is free goes back as far as needed; what is in use stays."""
        self.budget = budget
        if self.held_bytes > budget:
            self.reclaim(True)
            self.trim(max(0, self.free_bytes - (self.held_bytes - budget)))

    def make_room(self, allocate: Callable[[], T], request: str, submit: bool = True) -> T:
        """The result of `allocate`, which raises `MemoryError` while there is no room.

        Before each further call more of what is not in use is given back; `submit` says whether what is recorded may be
        submitted for that. For blocks, and for what takes memory next to them, such as textures. Raises `OutOfMemory`;
        `request` says in its message who asked for how much.
        """
        for attempt in range(4):
            if attempt == 3:
                self.spill()
            if attempt >= 2:
                self.reclaim(submit)
            if attempt >= 1:
                self.trim()
            try:
                return allocate()
            except MemoryError:
                continue
        raise OutOfMemory(self._shortage(request))

    def tidy(self) -> None:
        """Give back what is free beyond a reserve; called once a frame."""
        if self.free_bytes > KEEP_FREE:
            self.trim(max(KEEP_FREE, self._tracker.live_bytes))

    # inside -----------------------------------------------------------------------------------------------------

    def _activate(self, block: Block, nbytes: int, name: str, origin: Origin) -> Block:
        self._tracker.blocks[block.id] = block
        block.state = State.LIVE
        block.note_write()
        block.nbytes, block.name, block.origin = nbytes, name, origin
        block.last_frame = self._tracker.frame
        return block

    def _block_of(self, capacity: int, nbytes: int, name: str, exported: bool) -> Block:
        self._require_possible(nbytes, name)
        capacity = min(capacity, self._storage.largest)
        self.taken_bytes += capacity
        waiting = self._free.get((capacity, exported))
        if waiting:
            block = waiting.pop()
            self._forget_empty(block)
            self.free_bytes -= capacity
            return block
        return self._allocate(capacity, nbytes, name, exported)

    def _require_possible(self, nbytes: int, name: str) -> None:
        if nbytes > self._storage.largest:
            raise LimitError(
                f"tensor {name or 'unnamed'!r} needs {nbytes} bytes in one buffer, this adapter allows "
                f"{self._storage.largest}; split it, or use a smaller dtype"
            )

    def _allocate(self, capacity: int, nbytes: int, name: str, exported: bool) -> Block:
        def allocate() -> Block:
            if self.budget is not None and self.held_bytes + capacity > self.budget:
                raise MemoryError
            make = self._storage.allocate_shared if exported else self._storage.allocate
            return Block(capacity, make(capacity), exported=exported)

        block = self.make_room(allocate, f"tensor {name or 'unnamed'!r} asked for {nbytes:,} bytes")
        self._tracker.blocks[block.id] = block
        self.held_bytes += capacity
        self.peak_bytes = max(self.peak_bytes, self.held_bytes)
        return block

    def _put(self, block: Block) -> None:
        """A block nobody needs any more came back from the tracker."""
        if block.storage is None:
            del self._tracker.blocks[block.id]
            return
        self._free.setdefault((block.capacity, block.exported), []).append(block)
        self.free_bytes += block.capacity

    def _destroy(self, block: Block) -> None:
        self._forget_empty(block)
        self.free_bytes -= block.capacity
        self.held_bytes -= block.capacity
        del self._tracker.blocks[block.id]
        storage, block.storage = block.storage, None
        self._storage.destroy(storage)

    def _forget_empty(self, block: Block) -> None:
        kind = block.capacity, block.exported
        if not self._free[kind]:
            del self._free[kind]

    def _shortage(self, request: str) -> str:
        largest = sorted(self._tracker.live, key=lambda block: block.capacity, reverse=True)[:5]
        holders = "\n".join(f"  {b.nbytes:>14,} bytes  {b.name or 'unnamed'}, created at {b.origin}" for b in largest)
        room = f"{self.budget - self.held_bytes:,} of {self.budget:,}" if self.budget is not None else "not enough"
        return (
            f"out of GPU memory: {request}; free: {room} bytes "
            f"after everything unused was given back ({self.held_bytes:,} held). Largest holders:\n"
            f"{holders or '  none'}\nclose() what is not needed, or use fewer or smaller tensors"
        )
