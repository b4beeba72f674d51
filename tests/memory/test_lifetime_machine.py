"""Random histories of blocks, checked after every step against a model of what each tensor should contain."""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import dataclass, field

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from vertigrad.errors import BorrowInUse, OutOfMemory, StillInUse, UseAfterFree
from vertigrad.memory import Block, Borrow, Origin, Owner, State, size_class

from .fake import FakeGpu

ROOM = 24 * 1024
which = st.integers(0, 1 << 20)


@dataclass(eq=False)
class Held:
    """One owner as the model sees it: the value it must have, how many handles are open and how many of these were
    lost to the garbage collector, and what it borrowed.
    """

    owner: Owner
    value: int
    handles: int = 1
    lost: int = 0
    source: bytearray | None = None


@dataclass(eq=False)
class Shown:
    """A published block and what it must go on showing."""

    block: Block
    value: int


@dataclass
class Counts:
    """How often the model says that each block is owned, pinned and published."""

    owners: dict[Block, int] = field(default_factory=dict)
    pins: dict[Block, int] = field(default_factory=dict)
    published: dict[Block, int] = field(default_factory=dict)

    def add(self, counts: dict[Block, int], block: Block) -> None:
        counts[block] = counts.get(block, 0) + 1


class Lifetimes(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.gpu = FakeGpu(room=ROOM)
        self.tracker, self.pool, self.queue = self.gpu.tracker, self.gpu.pool, self.gpu.queue
        self.held: list[Held] = []
        self.shown: list[Shown] = []
        self.lent_out: list[Block] = []  # pinned by an open resource()
        self.dead: list[Owner] = []
        self.values = itertools.count(1)
        self.lines = itertools.count(1)
        self.generations: dict[int, int] = {}
        self.peak = 0

    # making -----------------------------------------------------------------------------------------------------

    @rule(nbytes=st.integers(0, 6000))
    def make(self, nbytes: int) -> None:
        origin = Origin("model.py", next(self.lines))
        try:
            owner = self.gpu.make(nbytes, f"tensor{origin.line}", origin)
        except OutOfMemory as error:
            return self.check_shortage(error, nbytes, f"tensor{origin.line}")
        block = owner.block
        assert block.owners == 1
        assert block.pins == block.published == 0
        assert block.last_serial <= self.tracker.retired, "handed out while a submission needs it"
        assert block.nbytes == nbytes <= block.capacity == block.storage.nbytes
        assert block.storage.alive
        block.storage.value = next(self.values)
        self.held.append(Held(owner, block.storage.value))

    @rule(nbytes=st.integers(1, 2000))
    def borrow(self, nbytes: int) -> None:
        held = self.gpu.storage.nbytes
        value = next(self.values)
        source = bytearray([value % 251]) * nbytes
        origin = Origin("loader.py", next(self.lines))
        block = self.pool.lend(Borrow(source), "lent", origin)
        assert block.buffer is None
        assert self.gpu.storage.nbytes == held
        self.held.append(Held(Owner(self.tracker, block, "lent", origin), value % 251, source=source))

    @precondition(lambda self: self.reachable())
    @rule(i=which)
    def clone(self, i: int) -> None:
        held = self.pick(i)
        allocated = len(self.gpu.storage.calls)
        owner = held.owner.clone("clone", Origin("clone.py", next(self.lines)))
        assert owner.block is held.owner.block
        assert len(self.gpu.storage.calls) == allocated
        self.held.append(Held(owner, held.value, source=held.source))

    @precondition(lambda self: self.reachable())
    @rule(i=which)
    def view(self, i: int) -> None:
        held = self.pick(i)
        assert held.owner.hold() is held.owner
        held.handles += 1

    # using ------------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.reachable())
    @rule(i=which, keep=st.booleans())
    def write(self, i: int, keep: bool) -> None:
        """Copy-on-write as the gpu floor does it, then a write that the next submission carries out."""
        held = self.pick(i)
        old = held.owner.block
        with contextlib.suppress(OutOfMemory):
            self.make_own(held, keep)
            block = held.owner.block
            assert not block.shared
            assert [h for h in self.held if h.owner.block is block] == [held]
            assert block is old or old.held or old.state is not State.LIVE
            self.queue.use([block])
            block.storage.value = held.value = next(self.values)

    @precondition(lambda self: self.reachable())
    @rule(i=which)
    def read(self, i: int) -> None:
        held = self.pick(i)
        with contextlib.suppress(OutOfMemory):
            self.make_resident(held)
            self.queue.use([held.owner.block])
            assert held.owner.block.storage.value == held.value

    @precondition(lambda self: self.reachable())
    @rule(i=which)
    def publish(self, i: int) -> None:
        held = self.pick(i)
        with contextlib.suppress(OutOfMemory):
            self.make_resident(held)
            self.tracker.publish(held.owner.block)
            self.shown.append(Shown(held.owner.block, held.value))

    @precondition(lambda self: self.shown)
    @rule(i=which)
    def withdraw(self, i: int) -> None:
        self.tracker.withdraw(self.shown.pop(i % len(self.shown)).block)

    @precondition(lambda self: self.reachable())
    @rule(i=which)
    def open_resource(self, i: int) -> None:
        held = self.pick(i)
        with contextlib.suppress(OutOfMemory):
            self.make_resident(held)
            self.tracker.pin(held.owner.block)
            self.lent_out.append(held.owner.block)

    @precondition(lambda self: self.lent_out)
    @rule(i=which)
    def close_resource(self, i: int) -> None:
        block = self.lent_out.pop(i % len(self.lent_out))
        self.queue.use([block])
        self.tracker.unpin(block)

    # the end of things ------------------------------------------------------------------------------------------

    @precondition(lambda self: self.reachable())
    @rule(i=which)
    def close(self, i: int) -> None:
        held = self.pick(i)
        held.owner.drop()
        self.dropped(held)

    @precondition(lambda self: self.reachable())
    @rule(i=which)
    def lose(self, i: int) -> None:
        """The garbage collector finds a handle at a bad moment: nothing may change until it is safe."""
        held = self.pick(i)
        held.lost += 1

        def drop() -> None:
            held.owner.drop()
            held.lost -= 1
            self.dropped(held)

        self.tracker.drop_later(drop)

    @rule()
    def collect(self) -> None:
        self.tracker.collect()

    @rule(i=which)
    def release(self, i: int) -> None:
        """Give back what was borrowed, if it was uploaded."""
        lent = [held for held in self.held if held.owner.block.borrow is not None]
        if lent and lent[i % len(lent)].owner.block.storage is not None:
            lent[i % len(lent)].owner.block.give_back()

    @precondition(lambda self: self.dead)
    @rule(i=which)
    def use_after_free(self, i: int) -> None:
        owner = self.dead[i % len(self.dead)]
        for use in (lambda: owner.block, owner.hold, owner.drop, lambda: owner.clone("", Origin("", 0))):
            with pytest.raises(UseAfterFree) as caught:
                use()
            assert repr(owner.name) in str(caught.value)
            assert str(owner.origin) in str(caught.value)

    # submissions ------------------------------------------------------------------------------------------------

    @rule()
    def submit(self) -> None:
        used = list(self.queue.recorded)
        serial = self.queue.submit()
        assert serial == self.tracker.submitted
        assert all(block.last_serial == serial for block in used)

    @rule()
    def abandon(self) -> None:
        self.queue.abandon()

    @precondition(lambda self: self.tracker.submitted)
    @rule(i=which)
    def retire(self, i: int) -> None:
        self.queue.retire(1 + i % self.tracker.submitted)

    @rule()
    def retire_what_never_was(self) -> None:
        with pytest.raises(StillInUse):
            self.tracker.retire(self.tracker.submitted + 1)

    @rule()
    def next_frame(self) -> None:
        self.tracker.frame += 1
        self.pool.tidy()

    @rule(keep=st.integers(0, 8000))
    def trim(self, keep: int) -> None:
        self.pool.trim(keep)
        assert self.pool.free_bytes <= keep

    # what must always hold --------------------------------------------------------------------------------------

    @invariant()
    def contents_are_what_was_written(self) -> None:
        for held in self.held:
            block = held.owner.block
            assert block.state is State.LIVE
            if block.storage is not None:
                assert block.storage.alive
                assert block.storage.value == held.value
            else:
                assert block.borrow is not None
                assert set(block.borrow.bytes()) == {held.value}
        for shown in self.shown:
            assert shown.block.storage.value == shown.value, "what is drawn was written"

    @invariant()
    def counts_are_exact(self) -> None:
        counts = Counts()
        for held in self.held:
            counts.add(counts.owners, held.owner.block)
        for block in [*self.queue.recorded, *self.lent_out, *(shown.block for shown in self.shown)]:
            counts.add(counts.pins, block)
        for shown in self.shown:
            counts.add(counts.published, shown.block)
        for block in self.tracker.blocks.values():
            assert block.owners == counts.owners.get(block, 0)
            assert block.pins == counts.pins.get(block, 0)
            assert block.published == counts.published.get(block, 0)
            assert block.held == (block.state is State.LIVE)
            assert (block.state is State.RETIRING) <= (block.last_serial > self.tracker.retired)
        known = set(self.tracker.blocks.values())
        assert {*counts.owners, *counts.pins} <= known

    @invariant()
    def bytes_add_up(self) -> None:
        blocks = self.tracker.blocks.values()
        assert self.pool.held_bytes == self.gpu.storage.nbytes == sum(block.capacity for block in blocks)
        assert self.pool.free_bytes == sum(block.capacity for block in blocks if block.state is State.FREE)
        assert {block.storage for block in blocks if block.storage} == self.gpu.storage.alive
        assert self.peak <= self.pool.peak_bytes <= ROOM
        assert self.pool.held_bytes <= self.pool.peak_bytes
        self.peak = self.pool.peak_bytes

    @invariant()
    def generations_rise(self) -> None:
        for id_, block in self.tracker.blocks.items():
            assert block.id == id_
            assert block.generation >= self.generations.get(id_, 0)
            self.generations[id_] = block.generation

    @invariant()
    def nothing_needed_was_given_back(self) -> None:
        assert all(buffer.alive for buffer in self.gpu.storage.needed)

    @invariant()
    def lenders_are_held_while_borrowed(self) -> None:
        for held in self.held:
            if held.source is not None and held.owner.block.borrow is not None:
                with pytest.raises(BufferError):
                    held.source.append(0)

    def teardown(self) -> None:
        self.tracker.collect()
        for held in list(self.held):
            for _ in range(held.handles):
                held.owner.drop()
            if held.source is not None and all(h.source is not held.source for h in self.held if h is not held):
                held.source.append(0)
            self.held.remove(held)
        for shown in self.shown:
            self.tracker.withdraw(shown.block)
        for block in self.lent_out:
            self.tracker.unpin(block)
        self.queue.wait_idle()
        assert self.tracker.live == []
        assert all(block.owners == block.pins == block.published == 0 for block in self.tracker.blocks.values())
        assert self.pool.free_bytes == self.pool.held_bytes
        self.pool.trim()
        assert self.pool.held_bytes == self.gpu.storage.nbytes == 0
        assert self.tracker.blocks == {}
        assert self.tracker.leak_report() == ""

    # the gpu floor's part ---------------------------------------------------------------------------------------

    def pick(self, i: int) -> Held:
        reachable = self.reachable()
        return reachable[i % len(reachable)]

    def reachable(self) -> list[Held]:
        return [held for held in self.held if held.handles > held.lost]

    def dropped(self, held: Held) -> None:
        held.handles -= 1
        if not held.handles:
            self.held.remove(held)
            self.dead.append(held.owner)

    def make_resident(self, held: Held) -> None:
        block = held.owner.block
        if block.storage is None:
            assert block.borrow is not None
            donor = self.pool.take(block.nbytes, "upload", block.origin)
            self.tracker.pin(donor)
            try:
                (donor.storage.value,) = set(block.borrow.bytes())
                self.pool.place(block, donor)
            finally:
                self.tracker.unpin(donor)

    def make_own(self, held: Held, keep: bool) -> None:
        old = held.owner.block
        if not old.shared:
            return
        if keep:
            self.make_resident(held)
            if old.owners == 1 and not old.published:
                return old.give_back()
        new = self.pool.take(old.nbytes, held.owner.name, held.owner.origin)
        if keep:
            self.queue.use([old, new])
            new.storage.value = old.storage.value
        else:
            new.storage.value = held.value
        held.owner.move_to(new)

    def check_shortage(self, error: OutOfMemory, nbytes: int, name: str) -> None:
        assert self.pool.free_bytes == 0, "given up although something was free"
        assert all(block.state is State.LIVE for block in self.tracker.blocks.values()), "given up without waiting"
        assert self.gpu.storage.nbytes + size_class(nbytes) > ROOM
        assert repr(name) in str(error)
        assert f"{nbytes:,} bytes" in str(error)
        largest = sorted(self.tracker.live, key=lambda block: -block.capacity)
        assert sum(str(block.origin) in str(error) for block in largest) >= min(5, len(largest))


class TestLifetimes(Lifetimes.TestCase):
    settings = settings(max_examples=200, stateful_step_count=60, deadline=None)


def test_a_source_is_not_given_back_before_its_bytes_are_on_the_gpu() -> None:
    gpu = FakeGpu()
    borrow = Borrow(bytearray(64))
    block = gpu.pool.lend(borrow, "lent")
    owner = Owner(gpu.tracker, block, "lent", block.origin)
    owner.drop()
    assert borrow.released
    with pytest.raises(BorrowInUse):
        borrow.bytes()
