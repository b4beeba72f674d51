"""Which results of a plan can lie in the same memory, since they are not needed at the same time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Span(NamedTuple):
    """The numbers of the first and the last dispatch that use a result, and its bytes."""

    first: int
    last: int
    nbytes: int


class Place(NamedTuple):
    """Memory for results that follow one another, of so many bytes."""

    nbytes: int
    spans: tuple[Span, ...] = ()

    def gap(self, span: Span) -> int | None:
        """For how many dispatches nothing would lie here before or after `span`, the smaller; None if it has no room.

        0 where nothing lies here at all.
        """
        gaps = [max(span.first - other.last, other.first - span.last) for other in self.spans]
        return None if min(gaps, default=1) <= 0 else min(gaps, default=0)


def pack(spans: Sequence[Span], places: list[Place]) -> list[int]:
    """The number of the place of each span; `places` is extended as needed, those that are there keep their size.

    Each result takes the place that has to grow least, of these the one whose neighbors are nearest in time. Largest
    first, or in the order of time: whichever needs less memory (both after Pisarchyk & Lee 2020, Efficient memory
    management for deep neural net inference, section 4).
    """
    largest_first = sorted(range(len(spans)), key=lambda i: (-spans[i].nbytes, spans[i].first))
    earliest_first = sorted(range(len(spans)), key=lambda i: (spans[i].first, -spans[i].nbytes))
    tried = [_put(spans, order, places) for order in (largest_first, earliest_first)]
    chosen, places[:] = min(tried, key=lambda each: sum(place.nbytes for place in each[1]))
    return chosen


def _put(spans: Sequence[Span], order: Iterable[int], given: Sequence[Place]) -> tuple[list[int], list[Place]]:
    chosen, places = [0] * len(spans), list(given)
    for index in order:
        span = spans[index]
        best = span.nbytes, 0, len(places)  # a place of its own
        for number, place in enumerate(places):
            gap, growth = place.gap(span), max(0, span.nbytes - place.nbytes)
            if gap is not None and not (growth and number < len(given)):
                best = min(best, (growth, gap, number))
        number = best[2]
        if number == len(places):
            places.append(Place(0))
        place = places[number]
        places[number] = Place(max(place.nbytes, span.nbytes), (*place.spans, span))
        chosen[index] = number
    return chosen, places
