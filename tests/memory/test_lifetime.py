"""`LifetimeTracker` and `Owner`: holders of blocks, misuse, finalizers, reports."""

import threading
from collections.abc import Callable

import pytest

from vertigrad.errors import StillInUse, UseAfterFree, WrongThread
from vertigrad.memory import Origin, Owner, State
from vertigrad.memory.block import Block

from .fake import HERE, FakeGpu


def test_a_block_lives_until_its_last_holder_is_closed(fake: FakeGpu) -> None:
    owner = fake.make(100)
    block = owner.block
    clone = owner.clone("clone", HERE)
    fake.tracker.publish([block])
    owner.drop()
    clone.drop()
    assert (block.state, block.owners, block.pins, block.published) == (State.LIVE, 0, 1, 1)
    fake.tracker.withdraw([block])
    assert (block.state, block.pins, block.published) == (State.FREE, 0, 0)


@pytest.mark.parametrize(
    ("owners", "published", "shared"), [(1, 0, False), (2, 0, True), (1, 1, True), (2, 1, True), (1, 2, True)]
)
def test_a_write_copies_if_others_own_or_draw_the_block(
    fake: FakeGpu, owners: int, published: int, shared: bool
) -> None:
    owner = fake.make(100)
    for _ in range(owners - 1):
        owner.clone("", HERE)
    for _ in range(published):
        fake.tracker.publish([owner.block])
    assert owner.block.shared is shared


def test_a_pin_alone_does_not_force_a_copy(fake: FakeGpu) -> None:
    owner = fake.make(100)
    fake.queue.use([owner.block])
    assert not owner.block.shared


def test_moving_updates_all_handles(fake: FakeGpu) -> None:
    owner = fake.make(100)
    view = owner.hold()
    old, new = owner.block, fake.pool.take(100, "x", HERE)
    owner.move_to(new)
    assert owner.block is view.block is new
    assert (old.owners, old.state, new.owners) == (0, State.FREE, 1)
    owner.drop()
    assert new.state is State.LIVE
    view.drop()
    assert new.state is State.FREE


def test_a_closed_owner_reports_its_name_and_when_it_was_freed(fake: FakeGpu) -> None:
    fake.tracker.frame = 41
    owner = fake.make(100, "positions", Origin("scene.py", 12))
    owner.drop()
    text = r"tensor 'positions', created at scene.py:12, was freed in frame 41; keep a clone\(\)"
    for use in (lambda: owner.block, owner.hold, lambda: owner.clone("", HERE)):
        with pytest.raises(UseAfterFree, match=text):
            use()
    with pytest.raises(UseAfterFree, match="closed twice"):
        owner.drop()


def test_a_handle_does_not_access_the_next_generation_of_its_block(fake: FakeGpu) -> None:
    owner = fake.make(100, "old")
    owner.handles += 1  # a lost handle: the count and the block disagree
    owner.drop()
    fake.tracker.disown(owner._block)
    assert fake.make(100, "new").block is owner._block
    with pytest.raises(UseAfterFree, match="'old'"):
        _ = owner.block


@pytest.mark.parametrize("count", ["own", "pin", "publish"])
def test_a_free_block_cannot_be_held_again(fake: FakeGpu, count: str) -> None:
    fake.tracker.frame = 3
    owner = fake.make(100, "gone")
    block = owner.block
    owner.drop()
    with pytest.raises(
        UseAfterFree, match=f"'gone' .block {block.id}, created at somewhere.py:7. was freed in frame 3"
    ):
        getattr(fake.tracker, count)([block] if count == "publish" else block)
    assert block.owners == block.pins == block.published == 0


def test_all_blocks_are_published_or_none(fake: FakeGpu) -> None:
    held, dropped = fake.make(100), fake.make(100, "gone")
    blocks = [held.block, dropped.block]
    dropped.drop()
    with pytest.raises(UseAfterFree, match="'gone'"):
        fake.tracker.publish(blocks)
    assert [(block.pins, block.published) for block in blocks] == [(0, 0), (0, 0)]


def test_a_retiring_block_cannot_be_held_again(fake: FakeGpu) -> None:
    owner = fake.make(100, "gone")
    block = owner.block
    fake.queue.use([block])
    fake.queue.submit()
    owner.drop()
    assert block.state is State.RETIRING
    with pytest.raises(UseAfterFree):
        fake.tracker.pin(block)


@pytest.mark.parametrize(
    ("undo", "message"), [("disown", "no owner"), ("unpin", "no pin"), ("withdraw", "not published")]
)
def test_counts_never_go_below_zero(fake: FakeGpu, undo: str, message: str) -> None:
    owner = fake.make(100)
    block = owner.block
    owner.drop()
    with pytest.raises(StillInUse, match=message):
        getattr(fake.tracker, undo)([block] if undo == "withdraw" else block)


def test_preflight_rejects_blocks_whose_memory_was_freed(fake: FakeGpu) -> None:
    good, bad = fake.make(100, "good"), fake.make(100, "bad")
    fake.tracker.preflight([good.block, bad.block])
    bad.block.storage = None
    with pytest.raises(UseAfterFree, match="'bad'"):
        fake.tracker.preflight([good.block, bad.block])
    freed = fake.make(100, "freed")
    block = freed.block
    freed.drop()
    with pytest.raises(UseAfterFree, match="'freed'"):
        fake.tracker.preflight([block])


def test_submissions_are_numbered_and_stamped(fake: FakeGpu) -> None:
    a, b = fake.make(100).block, fake.make(100).block
    fake.tracker.frame = 5
    fake.queue.use([a, b])
    assert fake.queue.submit() == 1
    fake.tracker.frame = 6
    fake.queue.use([b, b])
    assert fake.queue.submit() == 2
    assert [(x.last_serial, x.last_frame) for x in (a, b)] == [(1, 5), (2, 6)]
    assert a.pins == b.pins == 0


def test_retiring_backwards_changes_nothing(fake: FakeGpu) -> None:
    fake.queue.submit()
    fake.queue.submit()
    fake.tracker.retire(2)
    fake.tracker.retire(1)
    assert fake.tracker.retired == 2
    with pytest.raises(StillInUse, match="submission 3 was never made; the last is 2"):
        fake.tracker.retire(3)


def test_only_what_has_finished_is_freed(fake: FakeGpu) -> None:
    owners = [fake.make(100) for _ in range(3)]
    blocks = [owner.block for owner in owners]
    for owner in owners:
        fake.queue.use([owner.block])
        fake.queue.submit()
        owner.drop()
    fake.queue.retire(2)
    assert [block.state for block in blocks] == [State.FREE, State.FREE, State.RETIRING]


def test_handles_change_only_in_the_thread_of_the_gpu(fake: FakeGpu) -> None:
    owner = fake.make(100)
    owner.hold()
    block, tracker = owner.block, fake.tracker
    tracker.pin(block)
    tracker.publish([block])
    before = block.owners, block.pins, block.published
    changes: list[Callable[[], object]] = [
        owner.hold,
        owner.drop,
        lambda: tracker.own(block),
        lambda: tracker.disown(block),
        lambda: tracker.pin(block),
        lambda: tracker.pin_once([block], {}),
        lambda: tracker.unpin(block),
        lambda: tracker.publish([block]),
        lambda: tracker.withdraw([block]),
        tracker.collect,
    ]
    errors: list[BaseException] = []

    def call() -> None:
        for change in changes:
            try:
                change()
            except WrongThread as error:
                errors.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert len(errors) == len(changes) and owner.handles == 2
    assert (block.owners, block.pins, block.published) == before
    tracker.withdraw([block])
    tracker.unpin(block)
    owner.drop()
    owner.drop()


def test_handles_dropped_by_finalizers_are_released_at_a_safe_point(fake: FakeGpu) -> None:
    owner = fake.make(100)
    block = owner.block
    thread = threading.Thread(target=fake.tracker.drop_later, args=(owner.drop,))
    thread.start()
    thread.join()
    assert block.owners == 1
    fake.tracker.collect()
    assert block.state is State.FREE


def test_a_finalizer_can_queue_more_while_the_queue_is_processed(fake: FakeGpu) -> None:
    first, second = fake.make(100), fake.make(100)
    blocks = first.block, second.block

    def drop_both() -> None:
        fake.tracker.drop_later(second.drop)
        first.drop()

    fake.tracker.drop_later(drop_both)
    fake.tracker.collect()
    assert [block.state for block in blocks] == [State.FREE, State.FREE]


def test_taking_memory_collects_first(fake: FakeGpu) -> None:
    owner = fake.make(100)
    block = owner.block
    fake.tracker.drop_later(owner.drop)
    assert fake.make(100).block is block


def test_the_leak_report_lists_what_is_live_and_what_was_never_closed(fake: FakeGpu) -> None:
    assert fake.tracker.leak_report() == ""
    held = fake.make(100, "held", Origin("a.py", 1))
    fake.make(50, "", Origin("b.py", 2))
    fake.tracker.report_leak("forgotten", 400, Origin("c.py", 3))
    assert fake.tracker.leak_report().splitlines() == [
        "live: held, 100 bytes, created at a.py:1",
        "live: unnamed, 50 bytes, created at b.py:2",
        "never closed: forgotten, 400 bytes, created at c.py:3",
    ]
    held.drop()
    assert "held" not in fake.tracker.leak_report()


def test_leaks_are_counted_beyond_those_listed(fake: FakeGpu) -> None:
    for i in range(1500):
        fake.tracker.report_leak(f"t{i}", 4, HERE)
    assert fake.tracker.leak_count == 1500
    assert len(fake.tracker.leaks) == 1000


def test_an_origin_is_the_line_outside_of_the_package() -> None:
    origin = Origin.of_caller()
    assert origin.file == __file__
    assert str(origin).startswith(f"{__file__}:")


def test_a_block_has_a_description(fake: FakeGpu) -> None:
    block = fake.make(100, "x").block
    assert repr(block) == f"<Block {block.id} 'x' 100 bytes, live, owners 1, pins 0, generation 0>"
    assert block.buffer is block.storage


def test_ids_are_never_reused() -> None:
    assert len({Block(256, None).id for _ in range(100)}) == 100


def test_an_owner_that_cannot_be_created_changes_nothing(fake: FakeGpu) -> None:
    owner = fake.make(100)
    block = owner.block
    owner.drop()
    with pytest.raises(UseAfterFree):
        Owner(fake.tracker, block, "late", HERE)
    assert block.owners == 0
