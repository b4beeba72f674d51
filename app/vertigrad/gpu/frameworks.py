"""`Frameworks`: blocks that other frameworks see; they and this device take turns at them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import errors
from ..memory import Block, Owner
from ..sharing import Connection, Mapped, SharingFailed, connect
from .storage import BufferStorage

if TYPE_CHECKING:
    from .device import Gpu


@dataclass
class _Viewed:
    """A block that frameworks see, how many views of it they have, and how many of these are used in turns only."""

    owner: Owner
    mapped: Mapped
    views: int = 0
    in_turns: int = 0


class Frameworks:
    """Which blocks frameworks have views of. Each side waits on the host until the other is done with them.

    `reason` says why memory cannot be shared with frameworks on this device; it is empty where it can.
    """

    def __init__(self, backend: str):
        self.connection: Connection | None = None
        self.reason = ""
        try:
            self.connection = connect(backend)
        except SharingFailed as error:
            self.reason = str(error)
        self._views: dict[Block, _Viewed] = {}

    @property
    def device(self) -> tuple[int, int]:
        """DLPack's device type and number of the frameworks' side. Raises `GpuError` if there is none."""
        if self.connection is None:
            raise errors.GpuError(f"memory cannot be shared with other frameworks: {self.reason}")
        return self.connection.driver.device

    def wait_for(self, blocks: Iterable[Block]) -> bool:
        """Wait for the frameworks if they see any of `blocks`; returns whether they may write one at any time."""
        viewed = [block for block in blocks if block in self._views] if self._views else []
        if viewed:
            self.wait()
        return any(map(self.may_write, viewed))

    def may_write(self, block: Block) -> bool:
        """Whether frameworks may write `block` at any time."""
        viewed = self._views.get(block)
        return viewed is not None and viewed.views > viewed.in_turns

    @contextmanager
    def turn(self, buffer: object, finish: Callable[[], object]) -> Iterator[None]:
        """The turn of this device at `buffer`: wait for frameworks that see it, and `finish` before they continue."""
        viewed = any(block.buffer is buffer for block in self._views)
        if viewed:
            self.wait()
        yield
        if viewed:
            finish()

    def wait(self) -> None:
        """Block until frameworks have done what they queued. Raises `GpuError` if their work failed."""
        if self.connection is not None:
            try:
                self.connection.driver.wait()
            except SharingFailed as error:
                raise errors.GpuError(f"another framework's work on shared memory failed: {error}") from error

    def begin(self, gpu: Gpu, blocks: Collection[Block], record: Callable[[], object]) -> None:
        """Let frameworks use `blocks` now: what was recorded before, and by `record`, has finished with them."""
        if gpu.recorder.deferred is None:
            record()
        else:
            gpu.recorder.deferred.flush(record)
        if not set(gpu.recorder.used).isdisjoint(blocks):
            gpu.wait(gpu.submit())
        gpu.wait(max((block.last_serial for block in blocks), default=0))
        for block in blocks:
            block.note_write()

    def take_turns(self, block: Block) -> None:
        """The view of `block` that was opened last is used after `begin` and before the next submission only."""
        self._views[block].in_turns += 1

    def exchange(self, first: Owner, second: Owner) -> None:
        """Exchange the blocks of two owners, of both of which frameworks have views in turns and no others."""
        one, other = self._views[first.block], self._views[second.block]
        first.exchange(second)
        one.owner, other.owner = other.owner, one.owner

    def in_turns(self, block: Block) -> bool:
        """Whether all views of `block` are used in turns."""
        viewed = self._views.get(block)
        return viewed is not None and viewed.views == viewed.in_turns

    @contextmanager
    def access(self, gpu: Gpu, storage: BufferStorage, owner: Owner) -> Iterator[Mapped]:
        """The memory of `owner`, for a framework to read and write; while open it stays where it is.

        The block is made the owner's own first, and what was submitted on it has finished.
        """
        gpu.make_writable(owner)
        owner.require_values()
        gpu.wait(gpu.submit())
        with owner.stay() as block:
            viewed = self._views.setdefault(block, _Viewed(owner, storage.mapped(block.buffer)))
            viewed.views += 1
            owner.hold()
            owner.version += 1
            try:
                yield viewed.mapped
            finally:
                owner.version += 1
                block.note_write()
                owner.drop()
                viewed.views -= 1
                if not viewed.views:
                    del self._views[block]

    def find(self, pointer: int, nbytes: int) -> tuple[Owner, int] | None:
        """One more handle on the owner of these bytes, and their offset; None if no framework was given them."""
        for block, viewed in self._views.items():
            offset = pointer - viewed.mapped.pointer
            if offset >= 0 and offset + nbytes <= block.capacity:
                return viewed.owner.hold(), offset
        return None

    def copy_in(self, pointer: int, mapped: Mapped, nbytes: int) -> None:
        """Copy bytes of a framework into shared memory, and wait. Raises `GpuError`."""
        if self.connection is not None and nbytes:
            try:
                self.connection.driver.copy(pointer, mapped.pointer, nbytes)
            except SharingFailed as error:
                raise errors.GpuError(f"another framework's memory cannot be copied: {error}") from error
