"""A fake GPU in pure Python: buffers without contents, and a queue that reports which are in use."""

from __future__ import annotations

from collections.abc import Iterable

from vertigrad.memory import Block, BufferPool, LifetimeTracker, Origin, Owner


class FakeBuffer:
    """Memory without contents."""

    def __init__(self, nbytes: int):
        self.nbytes = nbytes
        self.alive = True


class FakeStorage:
    """`Storage` with `room` bytes. Records live buffers, and checks `needed` before destroying one."""

    def __init__(self, room: int = 1 << 40, largest: int = 1 << 30):
        self.room = room
        self.largest = largest
        self.alive: set[FakeBuffer] = set()
        self.calls: list[str] = []
        self.needed: set[FakeBuffer] = set()

    @property
    def nbytes(self) -> int:
        return sum(buffer.nbytes for buffer in self.alive)

    def allocate(self, nbytes: int) -> FakeBuffer:
        self.calls.append("allocate")
        if self.nbytes + nbytes > self.room:
            raise MemoryError
        buffer = FakeBuffer(nbytes)
        self.alive.add(buffer)
        return buffer

    def destroy(self, buffer: FakeBuffer) -> None:
        self.calls.append("destroy")
        assert buffer not in self.needed, "destroyed while a submission needs it"
        self.alive.remove(buffer)
        buffer.alive = False


class FakeQueue:
    """Records uses of blocks and submits them, as the gpu package does; the GPU finishes when `retire` is called."""

    def __init__(self, storage: FakeStorage, tracker: LifetimeTracker):
        self.storage = storage
        self.tracker = tracker
        self.recorded: dict[Block, None] = {}
        self.running: dict[int, set[FakeBuffer]] = {}

    def use(self, blocks: Iterable[Block]) -> None:
        for block in blocks:
            if block not in self.recorded:
                self.tracker.pin(block)
                self.recorded[block] = None
        self._note()

    def submit(self) -> int:
        self.tracker.collect()
        self.tracker.preflight(self.recorded)
        used, self.recorded = list(self.recorded), {}
        buffers = {block.storage for block in used}
        serial = self.tracker.submit(used)
        self.running[serial] = buffers
        self._note()
        return serial

    def retire(self, serial: int) -> None:
        for done in [s for s in self.running if s <= serial]:
            del self.running[done]
        self._note()
        self.tracker.retire(serial)

    def wait_idle(self) -> None:
        self.retire(self.submit())

    def _note(self) -> None:
        recorded = {block.storage for block in self.recorded}
        self.storage.needed = recorded.union(*self.running.values())


HERE = Origin("somewhere.py", 7)


class FakeGpu:
    """Storage, tracker, pool and queue combined."""

    def __init__(self, room: int = 1 << 40, largest: int = 1 << 30, budget: int | None = None):
        self.storage = FakeStorage(room, largest)
        self.tracker = LifetimeTracker()
        self.pool = BufferPool(self.storage, self.tracker, budget)
        self.queue = FakeQueue(self.storage, self.tracker)
        self.pool.reclaim = lambda submit: self.queue.wait_idle()

    def make(self, nbytes: int, name: str = "x", origin: Origin = HERE) -> Owner:
        return Owner(self.tracker, self.pool.take(nbytes, name, origin), name, origin)
