"""`Deferred`: commands that are held back, to be encoded in parts over several frames; and what they write into."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ..memory import Block, Owner
from .dispatch import Dispatch
from .native import DispatchList

if TYPE_CHECKING:
    from .device import Gpu
    from .kernel import Kernel

PARTS = 64 << 10  # bytes of uniforms that the parts of split dispatches take in a frame, at most

Grant = Callable[[str, "Kernel", int, bool], int]
"""Asked before each dispatch is encoded: the name of its plan, its kernel, the workgroups that are left of it, and
whether they can be split; answers how many may be encoded now, 0 for none."""


def grant_all(group: str, kernel: Kernel, left: int, splits: bool) -> int:
    """A `Grant` of everything."""
    return left


class Deferred:
    """What is recorded inside `recording` is retained, and done by `encode`, a part at a time; `commit` ends it.

    Until then nobody sees anything of it: whatever it writes of tensors that were there before, it writes into other
    blocks, which the tensors move to in `commit`. So what is drawn, read or copied meanwhile is whole, and `cancel`
    needs to undo nothing. `spares` are the blocks that tensors left in the last such commit: they are written in turns.
    """

    def __init__(self, gpu: Gpu, spares: Spares):
        self._gpu = gpu
        self._spares = spares
        self._work: deque[_Work] = deque()
        self._held: dict[Block, None] = {}  # pinned until the end
        self._old: dict[Owner, Block] = {}  # where the tensors are that are written
        self._new: dict[Owner, Block] = {}  # and where they will be
        self._before = {(block.id, block.generation) for block in gpu.tracker.live} - spares.ids()
        self._abandoned = gpu.recorder.abandoned

    @property
    def lost(self) -> bool:
        """Whether a part of it was dropped with a frame that failed: it cannot be ended any more."""
        return self._gpu.recorder.abandoned != self._abandoned

    @property
    def pending(self) -> bool:
        """Whether something is left to be encoded."""
        return bool(self._work)

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Keep what is recorded inside. If the block raises, all of it is dropped."""
        recorder = self._gpu.recorder
        recorder.deferred = self
        try:
            yield
        except BaseException:
            recorder.deferred = None
            self._hold_back()
            self.cancel()
            raise
        recorder.deferred = None
        self._hold_back()

    def encode(self, grant: Grant) -> bool:
        """Record as much as is granted; returns whether nothing is left."""
        while self._work:
            if not self._work[0].encode(grant):
                return False
            self._work.popleft()
        return True

    def workgroups(self) -> Iterator[tuple[str, Kernel, int]]:
        """(plan, kernel, workgroups) of each dispatch that is not encoded yet."""
        for work in self._work:
            if isinstance(work, _Dispatches):
                yield from work.left()

    def commit(self) -> None:
        """All was encoded: the tensors are where it wrote them, or where they were if this frame is dropped."""
        for owner, new in self._new.items():
            if owner.handles:
                self._gpu.recorder.move(owner, new)
                self._spares.put(owner, self._old.pop(owner))
        self._let_go()

    def cancel(self) -> None:
        """Drop what is left; the tensors are as they were."""
        self._let_go()

    # what the recorder hands over -------------------------------------------------------------------------------

    def holds(self, block: Block) -> bool:
        """Whether a block must not be written, because it was there before."""
        return (block.id, block.generation) in self._before

    def hold(self, blocks: Iterable[Block]) -> None:
        """Keep blocks alive until the end."""
        self._gpu.tracker.pin_once(blocks, self._held)

    def block_for(self, owner: Owner) -> Block | None:
        """The block that `owner` is to write into, if there is one already."""
        block = self._spares.take(owner)
        if block is not None:
            self.hold((block,))
            self._gpu.tracker.unpin(block)
        return block

    def move(self, owner: Owner, block: Block) -> None:
        """`owner` writes into `block`; where it was, it still is for all others."""
        if owner not in self._old:
            self._gpu.tracker.pin(owner.block)
            self._old[owner] = owner.block
        self.hold((block,))
        owner.move_to(block)

    def add(
        self, group: str, dispatches: Sequence[Dispatch], ready: DispatchList, starts: Sequence[int], image: bytes
    ) -> None:
        """Dispatches of the plan `group`, their uniforms lying at `starts` in `image`."""
        self._work.append(_Dispatches(self._gpu, group, tuple(dispatches), ready, tuple(starts), image, self._held))

    def call(self, record: Callable[[], object], drop: Callable[[], object] = lambda: None) -> None:
        """Something that is recorded whole; `drop` is called if it never will be."""
        self._work.append(_Call(record, drop))

    def flush(self, record: Callable[[], object] = lambda: None) -> None:
        """Record all there is so far, and then what `record` records: commands that cannot be held back."""
        recorder = self._gpu.recorder
        recorder.deferred = None
        try:
            self.encode(grant_all)
            record()
        finally:
            recorder.deferred = self

    # inside -----------------------------------------------------------------------------------------------------

    def _hold_back(self) -> None:
        """The tensors are where they were, for as long as this is in flight."""
        for owner, old in self._old.items():
            if owner.handles:
                self._new[owner] = owner.block
                owner.move_to(old)

    def _let_go(self) -> None:
        for work in self._work:
            if isinstance(work, _Call):
                work.drop()
        self._work.clear()
        tracker = self._gpu.tracker
        for block in (*self._held, *self._old.values()):
            tracker.unpin(block)
        self._held, self._old, self._new = {}, {}, {}


class Spares:
    """For each tensor the block that it left last, to be written next: two in turns, and nothing is allocated."""

    def __init__(self, gpu: Gpu):
        self._gpu = gpu
        self._blocks: dict[Owner, Block] = {}

    def ids(self) -> set[tuple[int, int]]:
        """Id and generation of each block."""
        return {(block.id, block.generation) for block in self._blocks.values()}

    def put(self, owner: Owner, block: Block) -> None:
        """Keep a block, which is pinned once for it."""
        self.drop(owner)
        self._blocks[owner] = block

    def take(self, owner: Owner) -> Block | None:
        """The block of `owner`, pinned once; None if there is none, or if others still need it."""
        block = self._blocks.get(owner)
        if block is None or block.owners or block.published or block.nbytes != owner.block.nbytes:
            self.drop(owner)
            return None
        return self._blocks.pop(owner)

    def drop(self, owner: Owner) -> None:
        """Give the block of `owner` back."""
        block = self._blocks.pop(owner, None)
        if block is not None:
            self._gpu.tracker.unpin(block)

    def clear(self) -> None:
        """Give all back."""
        for owner in list(self._blocks):
            self.drop(owner)


class _Work(Protocol):
    def encode(self, grant: Grant) -> bool:
        """Record as much as is granted; returns whether it was all."""
        ...


class _Call(NamedTuple):
    record: Callable[[], object]
    drop: Callable[[], object]

    def encode(self, grant: Grant) -> bool:
        self.record()
        return True


@dataclass(slots=True, eq=False)
class _Dispatches:
    """Dispatches of one plan; `number` is the next one, `first` the next workgroup of it."""

    gpu: Gpu
    group: str
    dispatches: tuple[Dispatch, ...]
    ready: DispatchList
    starts: tuple[int, ...]
    image: bytes
    blocks: dict[Block, None]
    number: int = 0
    first: int = 0

    def left(self) -> Iterator[tuple[str, Kernel, int]]:
        first = self.first
        for dispatch in self.dispatches[self.number :]:
            x, y, z = dispatch.workgroups
            yield self.group, dispatch.kernel, (x - first) * y * z
            first = 0

    def encode(self, grant: Grant) -> bool:
        gpu = self.gpu
        if not gpu.uniforms.fits(len(self.image) + PARTS):
            gpu.submit()
        gpu.recorder.use(self.blocks)
        base: int | None = None
        with gpu.recorder.group(self.group) if gpu.timer.enabled else nullcontext():
            while self.number < len(self.dispatches):
                dispatch = self.dispatches[self.number]
                x, y, z = dispatch.workgroups
                splits = dispatch.kernel.interface.splits and y == z == 1 and dispatch.indirect is None
                left = (x - self.first) * y * z
                count = grant(self.group, dispatch.kernel, left, splits) if left else 0
                if left and not count:
                    return False
                if base is None:
                    base = gpu.uniforms.push(self.image) if self.image else 0
                self._encode_one(dispatch, base, min(count, x - self.first) if splits else x)
        return True

    def _encode_one(self, dispatch: Dispatch, base: int, count: int) -> None:
        gpu, x = self.gpu, dispatch.workgroups[0]
        with gpu.recorder.kernel(dispatch.kernel.label) if gpu.timer.times_kernels else nullcontext():
            compute = gpu.recorder.compute_pass()
            if count == x:
                self.ready.encode_one(compute, self.number, base)
            else:
                self.ready.encode_part(compute, self.number, gpu.uniforms.push(self._part(dispatch)), count)
        gpu.recorder.dispatches += 1
        self.first += count
        if self.first >= x:
            self.number, self.first = self.number + 1, 0

    def _part(self, dispatch: Dispatch) -> bytearray:
        layout = dispatch.kernel.interface.uniform
        assert layout is not None
        start = self.starts[self.number]
        image = bytearray(self.image[start : start + layout.size])
        layout.pack(image, 0, "first_workgroup", self.first)
        return image
