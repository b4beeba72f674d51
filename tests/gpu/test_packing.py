"""Results with overlapping live ranges never share memory, and little memory is unused."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vertigrad.gpu.packing import ArenaSlot, LiveRange, pack

SPANS = st.lists(
    st.builds(
        lambda a, b, n: LiveRange(min(a, b), max(a, b), n), st.integers(0, 30), st.integers(0, 30), st.integers(1, 99)
    ),
    max_size=40,
)


def at_once(live_ranges: list[LiveRange]) -> int:
    return max((sum(s.nbytes for s in live_ranges if s.first <= now <= s.last) for now in range(31)), default=0)


@given(SPANS, SPANS)
def test_live_results_do_not_overlap(first: list[LiveRange], later: list[LiveRange]) -> None:
    slots: list[ArenaSlot] = []
    chosen = pack(first, slots)
    sizes = [slot.nbytes for slot in slots]
    more = pack(later, slots)
    assert [slot.nbytes for slot in slots[: len(sizes)]] == sizes
    lying: dict[int, list[LiveRange]] = {}
    for number, live_range in zip(chosen + more, first + later, strict=True):
        assert live_range.nbytes <= slots[number].nbytes
        assert all(
            live_range.last < other.first or other.last < live_range.first for other in lying.setdefault(number, [])
        )
        lying[number].append(live_range)
    assert sum(sizes) >= at_once(first)


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=30))
def test_a_chain_takes_two_slots(sizes: list[int]) -> None:
    live_ranges = [LiveRange(index, index + 1, nbytes) for index, nbytes in enumerate(sizes)]
    slots: list[ArenaSlot] = []
    pack(live_ranges, slots)
    assert len(slots) <= 3 and sum(slot.nbytes for slot in slots) <= 2 * max(sizes) + min(sizes)


def test_a_result_takes_the_slot_of_its_size() -> None:
    slots = [ArenaSlot(1000), ArenaSlot(10)]
    assert pack([LiveRange(0, 1, 10), LiveRange(0, 1, 900)], slots) in ([1, 0], [0, 2])
    assert sum(slot.nbytes for slot in slots) == 1010
