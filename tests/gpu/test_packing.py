"""Results that are needed at the same time never lie in the same place, and little memory is left unused."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vertigrad.gpu.packing import Place, Span, pack

SPANS = st.lists(
    st.builds(
        lambda a, b, n: Span(min(a, b), max(a, b), n), st.integers(0, 30), st.integers(0, 30), st.integers(1, 99)
    ),
    max_size=40,
)


def at_once(spans: list[Span]) -> int:
    return max((sum(s.nbytes for s in spans if s.first <= now <= s.last) for now in range(31)), default=0)


@given(SPANS, SPANS)
def test_no_two_meet(first: list[Span], later: list[Span]) -> None:
    places: list[Place] = []
    chosen = pack(first, places)
    sizes = [place.nbytes for place in places]
    more = pack(later, places)
    assert [place.nbytes for place in places[: len(sizes)]] == sizes
    lying: dict[int, list[Span]] = {}
    for number, span in zip(chosen + more, first + later, strict=True):
        assert span.nbytes <= places[number].nbytes
        assert all(span.last < other.first or other.last < span.first for other in lying.setdefault(number, []))
        lying[number].append(span)
    assert sum(sizes) >= at_once(first)


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=30))
def test_a_chain_takes_two_places(sizes: list[int]) -> None:
    spans = [Span(index, index + 1, nbytes) for index, nbytes in enumerate(sizes)]
    places: list[Place] = []
    pack(spans, places)
    assert len(places) <= 3 and sum(place.nbytes for place in places) <= 2 * max(sizes) + min(sizes)


def test_a_result_takes_the_place_of_its_size() -> None:
    places = [Place(1000), Place(10)]
    assert pack([Span(0, 1, 10), Span(0, 1, 900)], places) in ([1, 0], [0, 2])
    assert sum(place.nbytes for place in places) == 1010
