"""Arena allocation: results of a plan whose live ranges do not overlap share memory."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class LiveRange(NamedTuple):
    """The numbers of the first and the last dispatch that use a result, and its bytes."""

    first: int
    last: int
    nbytes: int


class ArenaSlot(NamedTuple):
    """Memory of so many bytes for results whose live ranges, in the order of time, do not overlap."""

    nbytes: int
    live_ranges: tuple[LiveRange, ...] = ()

    def gap(self, live_range: LiveRange) -> int | None:
        """The smaller number of dispatches for which the slot is unused before or after `live_range`; None if it is
        taken.

        0 where nothing uses the slot.
        """
        at = bisect(self.live_ranges, live_range)
        neighbors = self.live_ranges[max(at - 1, 0) : at + 1]
        gaps = [max(live_range.first - other.last, other.first - live_range.last) for other in neighbors]
        return None if min(gaps, default=1) <= 0 else min(gaps, default=0)

    def with_range(self, live_range: LiveRange) -> ArenaSlot:
        """The slot, used for `live_range` too, which it is free for; grown to its size if it is smaller."""
        at = bisect(self.live_ranges, live_range)
        ranges = (*self.live_ranges[:at], live_range, *self.live_ranges[at:])
        return ArenaSlot(max(self.nbytes, live_range.nbytes), ranges)


def pack(live_ranges: Sequence[LiveRange], slots: list[ArenaSlot]) -> list[int]:
    """The slot number of each live range; `slots` is extended as needed, existing ones keep their size.

    Each result takes the slot that has to grow least, of these the one whose neighbors are nearest in time. Largest
    first, or in the order of time: whichever needs less memory (both after Pisarchyk & Lee 2020, Efficient memory
    management for deep neural net inference, section 4).
    """
    largest_first = sorted(range(len(live_ranges)), key=lambda i: (-live_ranges[i].nbytes, live_ranges[i].first))
    earliest_first = sorted(range(len(live_ranges)), key=lambda i: (live_ranges[i].first, -live_ranges[i].nbytes))
    tried = [_assign(live_ranges, order, slots) for order in (largest_first, earliest_first)]
    chosen, slots[:] = min(tried, key=lambda each: sum(slot.nbytes for slot in each[1]))
    return chosen


def _assign(
    live_ranges: Sequence[LiveRange], order: Iterable[int], existing: Sequence[ArenaSlot]
) -> tuple[list[int], list[ArenaSlot]]:
    chosen, slots = [0] * len(live_ranges), list(existing)
    for index in order:
        live_range = live_ranges[index]
        best = live_range.nbytes, 0, len(slots)  # a slot of its own
        for number, slot in enumerate(slots):
            growth = max(0, live_range.nbytes - slot.nbytes)
            if growth > best[0] or (growth and number < len(existing)):
                continue
            gap = slot.gap(live_range)
            if gap is not None:
                best = min(best, (growth, gap, number))
        number = best[2]
        if number == len(slots):
            slots.append(ArenaSlot(0))
        slots[number] = slots[number].with_range(live_range)
        chosen[index] = number
    return chosen, slots
