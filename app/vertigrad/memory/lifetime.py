"""`LifetimeTracker`: who holds which block, until which submission, in which state."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable
from threading import get_ident
from typing import NamedTuple

from ..errors import StillInUse, UseAfterFree, WrongThread
from .block import Block, Origin, State


class Leak(NamedTuple):
    """A handle that was never closed: the garbage collector found it."""

    name: str
    nbytes: int
    origin: Origin


class LifetimeTracker:
    """Keeps the counts of every block and moves it from live over retiring to free.

    Submissions are numbered by a rising serial. A block nobody holds is retiring until the last submission that used it
    has retired; then `on_free` receives it. All calls come from the thread that created the tracker, or from the first
    to call after that one has ended; `drop_later` alone may come from the garbage collector, in any thread.
    """

    def __init__(self) -> None:
        self.blocks: dict[int, Block] = {}
        self.on_free: Callable[[Block], None] = lambda block: None
        self.frame = 0
        self.submitted = 0
        self.retired = 0
        self.moves = 0  # owners that went from one block to another, so far
        self.drops = 0  # handles that were closed, so far: until one is added, no tensor is gone
        self.stays = 0  # blocks that have to stay where they are now: while there are none, only this device writes
        self.claims = 0  # further owners and publications, so far: until one is added, no block becomes shared
        self.leaks: deque[Leak] = deque(maxlen=1000)
        self.leak_count = 0
        self._retiring: list[Block] = []
        self._dropped: deque[Callable[[], None]] = deque()
        self._thread = threading.current_thread()
        self._ident = get_ident()

    def require_thread(self) -> None:
        """Raise `WrongThread` in any thread but the one that all calls come from."""
        if get_ident() != self._ident:
            self._take_over()

    # counts -----------------------------------------------------------------------------------------------------

    def own(self, block: Block) -> None:
        """One more owner."""
        self.require_thread()
        self._require_live(block)
        block.owners += 1
        if block.owners > 1:
            self.claims += 1

    def disown(self, block: Block) -> None:
        """One owner less."""
        self.require_thread()
        if block.owners <= 0:
            raise StillInUse(f"{block!r} has no owner to drop")
        block.owners -= 1
        if not block.owners and block.storage is not None:
            block.release_borrow()
        self._advance(block)

    def pin(self, block: Block) -> None:
        """One more use that keeps the block alive: a recorded command, an open `resource()`, a draw layer."""
        self.require_thread()
        self._require_live(block)
        block.pins += 1

    def pin_once(self, blocks: Iterable[Block], pinned: dict[Block, None]) -> None:
        """`pin` those of `blocks` that are not in `pinned` yet, and add them to it."""
        self.require_thread()
        live = State.LIVE
        for block in blocks:
            if block not in pinned:
                if block.state is not live:
                    self._require_live(block)
                block.pins += 1
                pinned[block] = None

    def unpin(self, block: Block) -> None:
        """One such use less."""
        self.require_thread()
        if block.pins <= 0:
            raise StillInUse(f"{block!r} has no pin to drop")
        block.pins -= 1
        if not block.pins and not block.owners:
            self._advance(block)

    def publish(self, blocks: Collection[Block]) -> None:
        """Layers may draw from the blocks until `withdraw`: each is pinned, and writes to it copy first.

        Raises `UseAfterFree` if one of them is not live; none is published then.
        """
        self.require_thread()
        live = State.LIVE
        for block in blocks:
            if block.state is not live:
                self._require_live(block)
        for block in blocks:
            block.pins += 1
            block.published += 1
            self.claims += 1

    def withdraw(self, blocks: Iterable[Block]) -> None:
        """Take back one `publish` of these."""
        self.require_thread()
        for block in blocks:
            if block.published <= 0 or block.pins <= 0:
                raise StillInUse(f"{block!r} is not published")
            block.published -= 1
            block.pins -= 1
            if not block.pins and not block.owners:
                self._advance(block)

    # submissions ------------------------------------------------------------------------------------------------

    def preflight(self, blocks: Iterable[Block]) -> None:
        """Raise `UseAfterFree` unless every block can be submitted: wgpu-native would end the process."""
        free, lost = State.FREE, State.LOST
        for block in blocks:
            if block.state is free or block.state is lost or block.storage is None:
                raise UseAfterFree(_gone(block))

    def submit(self, blocks: Iterable[Block]) -> int:
        """Number a submission that uses `blocks` (each pinned once for it) and return its serial."""
        self.submitted += 1
        serial, frame = self.submitted, self.frame
        for block in blocks:
            block.last_serial = serial
            block.last_frame = frame
            block.pins -= 1
            if not block.pins and not block.owners:
                self._advance(block)
        return serial

    def retire(self, serial: int) -> None:
        """The GPU has finished every submission up to `serial`: free what waited for them."""
        if serial > self.submitted:
            raise StillInUse(f"submission {serial} was never made; the last is {self.submitted}")
        self.retired = max(self.retired, serial)
        waiting, self._retiring = self._retiring, []
        for block in waiting:
            self._advance(block)

    def lose(self) -> None:
        """The device is gone, and every block with it: handles can still be closed, but not used."""
        for block in self.blocks.values():
            block.state = State.LOST
            block.generation += 1
        self.blocks.clear()
        self._retiring.clear()

    # finalizers --------------------------------------------------------------------------------

    def drop_later(self, drop: Callable[[], None]) -> None:
        """Queue `drop` for the next `collect`: a finalizer may run in the middle of anything."""
        self._dropped.append(drop)

    def collect(self) -> None:
        """Carry out what finalizers queued."""
        self.require_thread()
        while self._dropped:
            self._dropped.popleft()()

    def report_leak(self, name: str, nbytes: int, origin: Origin) -> None:
        """Note a handle that the garbage collector had to close."""
        self.leaks.append(Leak(name, nbytes, origin))
        self.leak_count += 1

    # statistics ----------------------------------------------------------------------------------------------------

    @property
    def live(self) -> list[Block]:
        """Blocks that somebody holds, oldest first."""
        return [block for block in self.blocks.values() if block.state is State.LIVE]

    @property
    def live_bytes(self) -> int:
        """Bytes asked for by those who hold live blocks."""
        return sum(block.nbytes for block in self.live)

    def leak_report(self) -> str:
        """One line for each block still live and each handle the garbage collector closed; empty if none."""
        lines = [f"live: {b.name or 'unnamed'}, {b.nbytes} bytes, created at {b.origin}" for b in self.live]
        lines += [f"never closed: {k.name or 'unnamed'}, {k.nbytes} bytes, created at {k.origin}" for k in self.leaks]
        return "\n".join(lines)

    # inside -----------------------------------------------------------------------------------------------------

    def _take_over(self) -> None:
        """Belong to this thread from here on, if the one before has ended."""
        here = threading.current_thread()
        if self._thread.is_alive():
            raise WrongThread(
                f"called from thread {here.name!r}, but the GPU belongs to thread {self._thread.name!r}, "
                "which opened it: make every call on tensors, plans and the GPU there, and hand it NumPy arrays "
                "through a queue.Queue; to drop the last reference to a tensor is allowed anywhere"
            )
        self._thread, self._ident = here, get_ident()

    def _require_live(self, block: Block) -> None:
        if block.state is not State.LIVE:
            raise UseAfterFree(_gone(block))

    def _advance(self, block: Block) -> None:
        """Advance the state of a block that nobody holds: live, retiring, free."""
        if block.held or block.state is State.FREE:
            return
        if block.state is State.LOST:
            block.release_borrow()
            return
        if block.state is State.LIVE:
            block.state = State.RETIRING
            block.freed_frame = self.frame
            block.release_borrow()
        if block.last_serial > self.retired:
            self._retiring.append(block)
        else:
            block.state = State.FREE
            block.generation += 1
            self.on_free(block)


def _gone(block: Block) -> str:
    return f"tensor {block.name or 'unnamed'!r} (block {block.id}, created at {block.origin}) {block.fate}"
