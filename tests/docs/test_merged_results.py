"""Results of benchmarks of one adapter, of several runs."""

from __future__ import annotations

from ..bench.results import merged


def row(benchmark: str, work: str, ours: float, **more: str) -> dict[str, object]:
    return {"benchmark": benchmark, "work": work, "ours": ours, **more}


def test_what_was_measured_before_only_stays_with_its_commit() -> None:
    before = {
        "commit": "a1",
        "results": [row("sort", "small", 1.0), row("sort", "large", 2.0, commit="a0"), row("scan", "small", 3.0)],
    }
    assert merged(before, [row("scan", "small", 4.0), row("sort", "huge", 5.0)]) == [
        row("sort", "small", 1.0, commit="a1"),
        row("sort", "large", 2.0, commit="a0"),
        row("sort", "huge", 5.0),
        row("scan", "small", 4.0),
    ]
    assert merged({"results": []}, [row("scan", "small", 4.0)]) == [row("scan", "small", 4.0)]
