"""Random tensor programs on the GPU: memory used by a recording, a running submission, a layer or other code is neither
freed, moved nor reused, and running out of memory changes no values.

The buffers in use are recorded from the commands as they enter the encoder, independently of the pins that
protect them. Values are compared with NumPy arrays.
"""

from __future__ import annotations

import gc
import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import vertigrad
from vertigrad.errors import BorrowInUse, GpuError, OutOfMemory, StillInUse, UseAfterFree
from vertigrad.gpu import Gpu, Traffic
from vertigrad.memory import State, size_class
from vertigrad.tensor import Publication, Tensor

from .expected import Drawn, Held, Lent, Owned, Reading, Shown, Source
from .kernels import PUT, kernel
from .needs import Needs

# x = value - x
REFLECT = """
struct Params { count: u32, value: f32, x_offset: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> x: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let i = params.x_offset + id.x;
    if id.x < params.count { x[i] = params.value - x[i]; }
}
"""

which = st.integers(0, 1 << 16)
sizes = st.sampled_from([1, 70, 300, 2000, 0])  # of four size classes, and of no bytes
numbers = st.integers(-4, 4)


class GpuLifetimes(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.gpu: Gpu = vertigrad.gpu()
        self.gpu.wait_idle()
        self.gpu.pool.trim()
        self.before = {(block.id, block.generation) for block in self.gpu.tracker.live}
        self.held: list[Held] = []
        self.readings: list[Reading] = []
        self.shown: list[Shown] = []
        self.lent: list[Lent] = []
        self.closed: list[Tensor] = []
        self.needs = Needs(self.gpu)
        self.needs.on_submit, self.needs.on_abandon = self.commit, self.go_back

    # creation and use -------------------------------------------------------------------------------------------

    @initialize(size=sizes, room=st.sampled_from([1 << 30, 6 << 10, 24 << 10]))
    def first(self, size: int, room: int) -> None:
        self.needs.patch.setattr(self.gpu.pool, "budget", self.gpu.pool.held_bytes + room)
        self.make(size, 1)

    @rule(size=sizes, number=numbers)
    def make(self, size: int, number: int) -> None:
        values = np.arange(size, dtype=np.float32) + np.float32(number)
        with self.memory_may_be_short(4 * size):
            self.hold(Tensor.from_numpy(values), Owned(values, values))

    @rule(size=sizes, number=numbers)
    def borrow(self, size: int, number: int) -> None:
        values = np.arange(size, dtype=np.float32) - np.float32(number)
        source, held_bytes = Source(bytearray(values.tobytes()), values), self.gpu.pool.held_bytes
        self.hold(Tensor.from_blob(source.memory, "f32"), Owned(values, values, source))
        assert self.gpu.pool.held_bytes == held_bytes

    @precondition(lambda self: self.held)
    @rule(i=which)
    def clone(self, i: int) -> None:
        held = self.pick(i)
        with self.memory_may_be_short(held.tensor.nbytes):
            tensor = held.tensor.clone()
            if self.is_lent(held):  # then it is copied now
                self.hold(tensor, Owned(held.values, held.values))
            else:
                assert tensor.block is held.tensor.block
                owned = Owned(held.owned.values, held.owned.submitted, held.owned.source, held.owned.block)
                self.held.append(Held(tensor, owned, held.part))

    @precondition(lambda self: self.held)
    @rule(i=which, start=which, count=which)
    def view(self, i: int, start: int, count: int) -> None:
        held = self.pick(i)
        size = held.tensor.size
        start = start % size if size else 0
        count = 1 + count % (size - start) if size else 0
        first = held.part.start + start
        self.held.append(Held(held.tensor[start : start + count], held.owned, slice(first, first + count)))

    @precondition(lambda self: self.held)
    @rule(i=which, number=numbers, whole=st.booleans())
    def write(self, i: int, number: int, whole: bool) -> None:
        """Write by a dispatch; a shared block is copied first, unless the dispatch overwrites all of it."""
        held = self.pick(i)
        values = np.float32(number) if whole else np.float32(number) - held.values
        wgsl, overwrites = (PUT, ("x",)) if whole else (REFLECT, ())
        arguments = {"x": held.tensor, "count": held.tensor.size, "value": float(number)}
        with self.memory_may_be_short(self.whole(held)), self.it_may_have_to_stay(held, whole):
            kernel(wgsl)(held.tensor.size, overwrites=overwrites, **arguments)
            self.needs.add(held.tensor.block)
            held.owned.write(held.part, values)

    @precondition(lambda self: self.held)
    @rule(i=which, number=numbers)
    def write_shared(self, i: int, number: int) -> None:
        """Move the owner to a block of its own."""
        self.clone(i)
        self.write(i, number, False)

    @precondition(lambda self: self.held)
    @rule(i=which, j=which)
    def copy(self, i: int, j: int) -> None:
        """Copy bytes, up to the size of the smaller tensor."""
        source, target = self.pick(i), self.pick(j)
        count = min(source.tensor.size, target.tensor.size)
        most = max(self.whole(source), self.whole(target))
        with self.memory_may_be_short(most), self.it_may_have_to_stay(target):
            self.gpu.make_resident(source.tensor.owner)
            self.gpu.make_writable(target.tensor.owner)
            if source.tensor.block is target.tensor.block or not count:
                return
            read, written = (source.tensor.block, source.tensor.start), (target.tensor.block, target.tensor.start)
            self.gpu.recorder.copy(*read, *written, 4 * count)
            first = target.part.start
            target.owned.write(slice(first, first + count), source.values[:count])

    @precondition(lambda self: self.held)
    @rule(i=which)
    def read_later(self, i: int) -> None:
        held = self.pick(i)
        on_the_host = held.tensor.block.storage is None or not held.tensor.size
        result = held.tensor.read_async().result
        self.readings.append(Reading(result, held.values, "submitted" if on_the_host else "recorded"))

    @precondition(lambda self: self.readings)
    @rule(i=which)
    def arrive(self, i: int) -> None:
        self.check_reading(self.readings.pop(i % len(self.readings)))

    @precondition(lambda self: self.held)
    @rule(i=which)
    def read(self, i: int) -> None:
        held = self.pick(i)
        assert np.array_equal(held.tensor.numpy(), held.values)

    # publications -----------------------------------------------------------------------------------------------

    @precondition(lambda self: self.held)
    @rule(i=which, j=which)
    def publish(self, i: int, j: int) -> None:
        tensors = [self.pick(i), self.pick(j)]
        shown = Shown(Publication(), [weakref.ref(held) for held in tensors], [])
        with self.memory_may_be_short(max(map(self.whole, tensors))):
            self.show(shown, tensors)
            self.shown.append(shown)

    @precondition(lambda self: self.shown)
    @rule(i=which, number=numbers, withdrawn=st.booleans())
    def step(self, i: int, number: int, withdrawn: bool) -> None:
        """As a model does: write the outputs and publish them again, in place unless they are being drawn."""
        shown = self.shown[i % len(self.shown)]
        tensors = [held for held in (ref() for ref in shown.tensors) if held in self.held]
        if withdrawn:
            shown.publication.withdraw()
            shown.drawn = []
        for held in tensors:
            self.write(self.held.index(held), number, False)
        if tensors:
            with self.memory_may_be_short(max(map(self.whole, tensors))):
                self.show(shown, tensors)

    @precondition(lambda self: self.shown)
    @rule(i=which)
    def draw(self, i: int) -> None:
        for drawn in self.shown[i % len(self.shown)].drawn:
            self.draw_one(drawn)

    @precondition(lambda self: self.shown)
    @rule(i=which)
    def withdraw(self, i: int) -> None:
        self.shown.pop(i % len(self.shown)).publication.withdraw()

    # borrowed buffers -------------------------------------------------------------------------------------------

    @precondition(lambda self: self.held)
    @rule(i=which, writable=st.booleans())
    def borrow_resource(self, i: int, writable: bool) -> None:
        held = self.pick(i)
        context = held.tensor.resource(writable)
        with self.memory_may_be_short(self.whole(held)), self.it_may_have_to_stay(held, unless=not writable):
            resource = context.__enter__()
            block = held.tensor.block
            assert resource.buffer is block.storage
            assert resource.offset == 4 * held.part.start or not held.tensor.size
            assert not (writable and block.shared)
            self.lent.append(Lent(context, held.owned, block, block.generation, block.storage, writable))

    @precondition(lambda self: self.lent)
    @rule(i=which, number=numbers)
    def other_code_writes(self, i: int, number: int) -> None:
        lent = self.lent[i % len(self.lent)]
        if lent.writable and not lent.block.shared and lent.block.owners and lent.owned.values.size:
            self.gpu.submit()
            values = np.full_like(lent.owned.values, number)
            self.gpu.queue.write_buffer(lent.buffer, 0, values)
            lent.owned.values = lent.owned.submitted = values

    @precondition(lambda self: self.lent)
    @rule(i=which)
    def take_back(self, i: int) -> None:
        lent = self.lent.pop(i % len(self.lent))
        lent.context.__exit__(None, None, None)
        self.needs.add(lent.block)

    # closing ----------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.held)
    @rule(i=which)
    def close(self, i: int) -> None:
        held = self.held.pop(i % len(self.held))
        held.tensor.close()
        self.closed.append(held.tensor)

    @precondition(lambda self: self.held)
    @rule(i=which)
    def lose(self, i: int) -> None:
        """Leave a tensor to the garbage collector, if no open `resource()` refers to it."""
        if not self.is_lent(self.pick(i)):
            del self.held[i % len(self.held)]

    @precondition(lambda self: self.closed)
    @rule(i=which)
    def use_after_free(self, i: int) -> None:
        tensor = self.closed[i % len(self.closed)]
        for use in (tensor.numpy, tensor.clone, lambda: tensor[:], lambda: tensor.resource().__enter__()):
            with pytest.raises(UseAfterFree):
                use()

    @precondition(lambda self: self.held)
    @rule(i=which)
    def release(self, i: int) -> None:
        """Release borrowed memory, if it was uploaded."""
        held = self.pick(i)
        block = held.tensor.block
        if block.borrow is not None and block.storage is None:
            with pytest.raises(BorrowInUse):
                held.tensor.release()
        else:
            held.tensor.release()
            assert block.borrow is None

    @rule(keep=st.sampled_from([0, 2000]))
    def trim(self, keep: int) -> None:
        self.gpu.pool.trim(keep)
        assert self.gpu.pool.free_bytes <= keep

    # submissions ------------------------------------------------------------------------------------------------

    @rule()
    def submit(self) -> None:
        self.gpu.submit()

    @rule(back=st.integers(0, 2))
    def wait(self, back: int) -> None:
        self.gpu.wait(max(0, self.gpu.tracker.submitted - back))

    @rule()
    def poll(self) -> None:
        self.gpu.poll()

    @rule()
    def abandon(self) -> None:
        self.gpu.abandon()

    # invariants -------------------------------------------------------------------------------------------------

    @invariant()
    def what_is_needed_is_there(self) -> None:
        self.needs.check()

    @invariant()
    def what_others_use_stays(self) -> None:
        for lent in self.lent:
            assert (lent.block.state, lent.block.generation) == (State.LIVE, lent.generation)
            assert lent.block.storage is lent.buffer
        for held in self.held:
            blocks = [lent.block for lent in self.lent if lent.owned is held.owned]
            assert all(block is held.tensor.block for block in blocks), "it moved away from where other code looks"
        for drawn in (drawn for shown in self.shown for drawn in shown.drawn):
            assert drawn.block.state is State.LIVE
            assert drawn.block.storage is not None

    @invariant()
    def counts_are_exact(self) -> None:
        self.gpu.tracker.collect()
        owned = {held.owned: held.tensor.block for held in self.held}
        published = [block for shown in self.shown for block in {drawn.block: None for drawn in shown.drawn}]
        lent = [lent.block for lent in self.lent]
        for block in {*owned.values(), *published, *lent}:
            assert block.owners == list(owned.values()).count(block)
            assert block.published == published.count(block)
            assert block.pins >= block.published + lent.count(block)

    @invariant()
    def bytes_add_up(self) -> None:
        blocks, pool = self.gpu.tracker.blocks.values(), self.gpu.pool
        assert pool.held_bytes == sum(block.capacity for block in blocks) <= pool.peak_bytes
        assert pool.free_bytes == sum(block.capacity for block in blocks if block.state is State.FREE)
        assert pool.budget is None or pool.held_bytes <= pool.budget

    @invariant()
    def sources_are_lent_as_long_as_they_are_borrowed(self) -> None:
        for held in self.held:
            borrow = held.tensor.block.borrow
            assert borrow is None or held.owned.source is not None
        for source in {held.owned.source for held in self.held if held.owned.source is not None}:
            lent = any(h.tensor.block.borrow is not None for h in self.held if h.owned.source is source)
            if lent or not self.gpu.recorder.pending:  # a dropped recording restores the borrowed memory
                source.check(lent)

    def teardown(self) -> None:
        sources = {held.owned.source for held in self.held if held.owned.source is not None}
        try:
            self.needs.patch.setattr(self.gpu.pool, "budget", None)
            while self.lent:
                self.take_back(0)
            for reading in self.readings:
                self.check_reading(reading)
            while self.shown:
                self.draw(0)
                self.withdraw(0)
            while self.held:
                held = self.held.pop(0)
                assert np.array_equal(held.tensor.numpy(), held.values)
                held.tensor.close()
            for reading in self.readings:
                self.check_reading(reading)
            self.needs.check()
            self.gpu.wait_idle()
        finally:
            self.needs.patch.undo()
            for things in (self.held, self.readings, self.shown, self.lent, self.closed):
                things.clear()
        self.check_nothing_held()
        gc.collect()  # errors raised above refer to frames, and these to borrowed memory
        for source in sources:
            source.check(lent=False)

    def check_nothing_held(self) -> None:
        if self.live() - self.before:
            gc.collect()
            self.gpu.wait_idle()
        assert not self.live() - self.before, self.gpu.tracker.leak_report()
        assert all(block.pins == 0 for block in self.gpu.tracker.live)
        assert self.gpu.readback.in_flight == 0

    def live(self) -> set[tuple[int, int]]:
        return {(block.id, block.generation) for block in self.gpu.tracker.live}

    # expected memory --------------------------------------------------------------------------------------------

    def hold(self, tensor: Tensor, owned: Owned) -> None:
        owned.block = tensor.block
        self.held.append(Held(tensor, owned, slice(0, tensor.size)))

    def pick(self, i: int) -> Held:
        return self.held[i % len(self.held)]

    def whole(self, held: Held) -> int:
        """Bytes of the block."""
        return held.owned.values.nbytes

    def is_lent(self, held: Held) -> bool:
        return any(lent.owned is held.owned for lent in self.lent)

    @contextmanager
    def memory_may_be_short(self, nbytes: int) -> Iterator[None]:
        """If `nbytes`, the largest request at once, do not fit, nothing has changed."""
        pool = self.gpu.pool
        try:
            yield
        except OutOfMemory:
            assert pool.free_bytes == 0, "given up although something was free"
            assert all(block.state is State.LIVE for block in self.gpu.tracker.blocks.values()), "... without waiting"
            assert pool.budget is not None and pool.held_bytes + size_class(nbytes) > pool.budget

    @contextmanager
    def it_may_have_to_stay(self, held: Held, overwritten: bool = False, unless: bool = False) -> Iterator[None]:
        """A write raises if it would have to move a buffer that other code has."""
        block = held.tensor.block
        shared = block.owners > 1 or block.published > 0
        covered = overwritten and held.tensor.nbytes == block.nbytes and block.borrow is not None
        if unless or not self.is_lent(held) or not (shared or covered):
            yield
        else:
            with pytest.raises(StillInUse, match="in use by resource"):
                yield
            assert held.tensor.block is block

    def show(self, shown: Shown, tensors: list[Held]) -> None:
        """Publish the tensors, replacing the published ones."""
        for held in tensors:
            self.gpu.make_resident(held.tensor.owner)
        shown.publication.publish([held.tensor for held in tensors])
        shown.drawn = [
            Drawn(held.tensor.block, held.owned.values, held.owned.is_submitted(held.tensor.block)) for held in tensors
        ]

    def draw_one(self, drawn: Drawn) -> None:
        """Use a published block in a command."""
        if drawn.values is None or not drawn.values.size:
            return
        arrived: list[np.ndarray] = []
        reading = self.gpu.recorder.read(
            drawn.block, 0, drawn.values.nbytes, Traffic.GEOMETRY, lambda data: arrived.append(np.array(data).copy())
        )

        def result() -> np.ndarray:
            self.gpu.wait_idle()
            if reading.dropped:
                raise GpuError("dropped")
            return arrived[0].view(np.float32)

        self.readings.append(Reading(result, drawn.values))

    def commit(self) -> None:
        for held in self.held:
            held.owned.submitted, held.owned.block = held.owned.values, held.tensor.block
        for drawn in (drawn for shown in self.shown for drawn in shown.drawn):
            drawn.submitted = True
        for reading in self.readings:
            if reading.state == "recorded":
                reading.state = "submitted"

    def go_back(self) -> None:
        for held in self.held:
            held.owned.values = held.owned.submitted
        for drawn in (drawn for shown in self.shown for drawn in shown.drawn):
            drawn.values = drawn.values if drawn.submitted else None
        for reading in self.readings:
            if reading.state == "recorded":
                reading.state = "dropped"

    def check_reading(self, reading: Reading) -> None:
        if reading.state == "dropped":
            with pytest.raises(GpuError):
                reading.result()
        else:
            assert np.array_equal(reading.result(), reading.values)


class TestGpuLifetimes(GpuLifetimes.TestCase):
    settings = settings(
        max_examples=200 if "VERTIGRAD_EXPLORE" in os.environ else 25,
        stateful_step_count=35,
        deadline=None,
        phases=[Phase.explicit, Phase.reuse, Phase.generate],  # no shrinking of failures: it can take minutes
        suppress_health_check=[HealthCheck.too_slow],
    )
