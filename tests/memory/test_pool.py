"""`BufferPool`: size classes, reuse, release, and running out of memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vertigrad.errors import LimitError, OutOfMemory, StillInUse
from vertigrad.memory import BufferPool, LifetimeTracker, Origin, Owner, State, size_class
from vertigrad.memory.pool import KEEP_FREE, SMALLEST

from .fake import HERE, FakeGpu, FakeStorage

KIB, MIB = 1 << 10, 1 << 20


@given(st.integers(0, 1 << 40))
def test_size_classes_waste_an_eighth_at_most(nbytes: int) -> None:
    capacity = size_class(nbytes)
    assert capacity >= nbytes
    assert capacity % 4 == 0
    assert size_class(capacity) == capacity
    if nbytes > SMALLEST:
        assert capacity - nbytes < nbytes / 8


def test_there_are_eight_size_classes_an_octave() -> None:
    classes = {size_class(n) for n in range(4 * KIB + 1, 8 * KIB + 1)}
    assert sorted(classes) == [4 * KIB + i * 512 for i in range(1, 9)]


@given(st.integers(0, 1 << 30), st.integers(0, 1 << 30))
def test_size_classes_increase(a: int, b: int) -> None:
    assert (size_class(a) <= size_class(b)) or a > b


def test_a_freed_block_is_reused_under_its_id_in_the_next_generation(fake: FakeGpu) -> None:
    first = fake.make(1000)
    block, generation, revision = first.block, first.block.generation, first.block.revision
    buffer = block.storage
    first.drop()
    second = fake.make(990, "other", Origin("other.py", 9))
    assert second.block is block
    assert block.revision > revision, "its bytes are not those that were drawn or computed from before"
    assert (block.storage, block.generation) == (buffer, generation + 1)
    assert (block.nbytes, block.name, str(block.origin)) == (990, "other", "other.py:9")
    assert fake.storage.calls == ["allocate"]


def test_a_block_of_another_size_class_is_not_reused(fake: FakeGpu) -> None:
    first = fake.make(10 * KIB)
    block = first.block
    first.drop()
    assert fake.make(1 * KIB).block is not block


def test_a_block_in_a_submission_is_not_handed_out_before_that_has_retired(fake: FakeGpu) -> None:
    owner = fake.make(1000)
    block = owner.block
    fake.queue.use([block])
    owner.drop()
    assert block.state is State.LIVE  # recorded commands use it
    serial = fake.queue.submit()
    assert block.state is State.RETIRING
    assert fake.make(1000).block is not block
    fake.queue.retire(serial)
    assert block.state is State.FREE
    assert fake.make(1000).block is block


def test_a_request_larger_than_the_largest_buffer(fake: FakeGpu) -> None:
    fake.storage.largest = 5000
    owner = fake.make(5000)
    assert owner.block.capacity == 5000  # its size class, 5120, would be too large
    with pytest.raises(LimitError, match=r"'huge' needs 5001 bytes in one buffer, this adapter allows 5000"):
        fake.make(5001, "huge")
    owner.drop()
    assert fake.make(4999).block.capacity == 5000
    assert fake.storage.calls == ["allocate"]


def test_trim_destroys_the_largest_first(fake: FakeGpu) -> None:
    owners = [fake.make(n) for n in (1 * KIB, 64 * KIB, 16 * KIB)]
    for owner in owners:
        owner.drop()
    fake.pool.trim(keep=20 * KIB)
    assert sorted(b.nbytes for b in fake.storage.alive) == [1 * KIB, 16 * KIB]
    assert fake.pool.free_bytes == fake.pool.held_bytes == 17 * KIB
    fake.pool.trim()
    assert not fake.storage.alive
    assert not fake.tracker.blocks


def test_tidy_keeps_a_reserve_and_as_much_again_as_is_live() -> None:
    fake = FakeGpu()
    for owner in [fake.make(16 * MIB) for _ in range(10)]:
        owner.drop()
    fake.pool.tidy()
    assert fake.pool.free_bytes == KEEP_FREE == 64 * MIB
    live = [fake.make(16 * MIB) for _ in range(12)]
    for owner in live[:6]:
        owner.drop()
    fake.pool.tidy()
    assert fake.pool.free_bytes == 6 * 16 * MIB == fake.tracker.live_bytes


def test_a_budget_counts_free_blocks_too() -> None:
    fake = FakeGpu(budget=4 * KIB)
    held = fake.make(2 * KIB)
    fake.make(2 * KIB).drop()
    assert fake.pool.held_bytes == 4 * KIB
    assert fake.make(1 * KIB).block.capacity == 1 * KIB  # the free one was destroyed
    assert fake.pool.held_bytes == 3 * KIB
    assert held.block.storage.alive


def test_memory_is_reclaimed_by_trimming_before_waiting_for_the_gpu(fake: FakeGpu) -> None:
    fake.storage.room = 4 * KIB
    fake.make(3 * KIB).drop()
    waits = []
    fake.pool.reclaim = lambda submit: waits.append(1)
    fake.make(4 * KIB)
    assert waits == []
    assert fake.storage.calls == ["allocate", "allocate", "destroy", "allocate"]


def test_memory_is_reclaimed_by_waiting_for_the_gpu(fake: FakeGpu) -> None:
    fake.storage.room = 4 * KIB
    owner = fake.make(3 * KIB)
    fake.queue.use([owner.block])
    owner.drop()  # recorded, not even submitted
    fake.make(4 * KIB)
    assert fake.tracker.retired == 1
    assert fake.pool.held_bytes == 4 * KIB


def test_each_attempt_releases_more_and_caches_are_released_last(fake: FakeGpu) -> None:
    fake.make(3 * KIB).drop()
    steps: list[object] = []
    fake.pool.reclaim = steps.append
    fake.pool.spill = lambda: steps.append("spill")

    def make() -> None:
        steps.append(fake.pool.free_bytes)
        raise MemoryError

    with pytest.raises(OutOfMemory, match="a texture"):
        fake.pool.make_room(make, "a texture", submit=False)
    assert steps == [3 * KIB, 0, False, 0, "spill", False, 0]
    steps.clear()
    with pytest.raises(OutOfMemory):
        fake.pool.make_room(make, "a tensor")
    assert steps == [0, 0, True, 0, "spill", True, 0]


def test_a_budget_can_be_met_exactly(fake: FakeGpu) -> None:
    held = fake.make(2 * KIB)
    for size in (1 * KIB, 4 * KIB):
        fake.make(size).drop()
    waits: list[bool] = []
    fake.pool.reclaim = waits.append
    fake.pool.limit(7 * KIB)
    assert (fake.pool.free_bytes, waits) == (5 * KIB, [])
    fake.pool.limit(6 * KIB)
    assert (fake.pool.free_bytes, waits) == (1 * KIB, [True])
    fake.pool.limit(3 * KIB)
    assert (fake.pool.free_bytes, waits) == (1 * KIB, [True])
    fake.pool.limit(1 * KIB)  # blocks in use stay
    assert (fake.pool.free_bytes, fake.pool.held_bytes, waits) == (0, 2 * KIB, [True, True])
    assert held.block.storage.alive
    fake.pool.limit(5 * KIB)
    fake.make(3 * KIB)
    with pytest.raises(OutOfMemory, match="free: 0 of 5,120 bytes"):
        fake.make(1)


def test_out_of_memory_names_the_request_what_is_free_and_the_five_largest_holders() -> None:
    fake = FakeGpu(budget=100 * KIB)
    owners = [fake.make((i + 1) * KIB, f"holder{i}", Origin("model.py", i)) for i in range(8)]
    fake.make(8 * KIB).drop()
    running = fake.make(16 * KIB, "running")
    fake.queue.use([running.block])
    fake.queue.submit()
    running.drop()
    with pytest.raises(OutOfMemory) as caught:
        fake.make(80_000, "the asked", HERE)
    message = str(caught.value)
    assert "'the asked' asked for 80,000 bytes" in message
    assert f"free: {64 * KIB:,} of {100 * KIB:,} bytes" in message
    assert [line.split() for line in message.splitlines() if "created at" in line] == [
        [f"{(i + 1) * KIB:,}", "bytes", f"holder{i},", "created", "at", f"model.py:{i}"] for i in (7, 6, 5, 4, 3)
    ]
    assert fake.pool.free_bytes == 0
    assert fake.tracker.retired == fake.tracker.submitted
    assert all(owner.block.storage.alive for owner in owners)


def test_after_running_out_smaller_requests_still_work(fake: FakeGpu) -> None:
    fake.storage.room = 4 * KIB
    with pytest.raises(OutOfMemory, match="free: not enough bytes") as caught:
        fake.make(5 * KIB, "")
    assert "'unnamed' asked for" in str(caught.value)
    assert "Largest holders:\n  none" in str(caught.value)
    assert fake.make(4 * KIB).block.owners == 1


def test_statistics_follow_the_held_memory() -> None:
    fake = FakeGpu()
    a, b = fake.make(3 * KIB), fake.make(5 * KIB)
    assert (fake.pool.held_bytes, fake.pool.free_bytes, fake.pool.peak_bytes) == (8 * KIB, 0, 8 * KIB)
    assert fake.tracker.live_bytes == 8 * KIB
    a.drop()
    assert (fake.pool.held_bytes, fake.pool.free_bytes, fake.pool.peak_bytes) == (8 * KIB, 3 * KIB, 8 * KIB)
    fake.pool.trim()
    b.drop()
    assert (fake.pool.held_bytes, fake.pool.free_bytes, fake.pool.peak_bytes) == (5 * KIB, 5 * KIB, 8 * KIB)


def test_a_borrowed_block_takes_the_memory_of_its_donor(fake: FakeGpu) -> None:
    from vertigrad.memory import Borrow

    lent = Owner(fake.tracker, fake.pool.borrow(Borrow(bytes(1000)), "lent", HERE), "lent", HERE)
    assert (lent.block.storage, lent.block.capacity, fake.pool.held_bytes) == (None, 0, 0)
    donor = fake.pool.take(1000, "lent", HERE)
    fake.tracker.pin(donor)
    buffer = donor.storage
    fake.pool.move_storage(lent.block, donor)
    fake.tracker.unpin(donor)
    assert (lent.block.storage, lent.block.capacity) == (buffer, size_class(1000))
    assert list(fake.tracker.blocks) == [lent.block.id]
    assert fake.pool.held_bytes == size_class(1000)
    other = fake.pool.take(1000, "", HERE)
    with pytest.raises(StillInUse):
        fake.pool.move_storage(lent.block, other)
    lent.drop()
    assert fake.make(1000).block is lent._block


def test_a_reserved_block_has_no_memory_until_it_is_committed(fake: FakeGpu) -> None:
    fake.storage.largest = 4 * KIB
    with pytest.raises(LimitError, match="'huge' needs 4097 bytes"):
        fake.pool.reserve(4 * KIB + 1, "huge", HERE)
    owner = Owner(fake.tracker, fake.pool.reserve(4 * KIB, "reserved", HERE), "reserved", HERE)
    block = owner.block
    assert (block.storage, block.capacity, block.nbytes, fake.pool.held_bytes) == (None, 0, 4 * KIB, 0)
    fake.pool.commit(block)
    assert (block.capacity, fake.pool.held_bytes, list(fake.tracker.blocks)) == (4 * KIB, 4 * KIB, [block.id])
    owner.drop()
    assert fake.make(4 * KIB).block is block


def test_two_pools_do_not_share_anything() -> None:
    trackers = LifetimeTracker(), LifetimeTracker()
    pools = [BufferPool(FakeStorage(), tracker) for tracker in trackers]
    block = pools[0].take(100, "x", HERE)
    assert list(trackers[0].blocks) == [block.id]
    assert trackers[1].blocks == {}
    assert pools[1].take(100, "y", HERE).id != block.id
