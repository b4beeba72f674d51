"""`Timeline` and its trace: measurements of frames, and a file in Perfetto's format."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from vertigrad.atomic_file import write_file
from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.gpu.timer import Span, Timed
from vertigrad.session import Session, timeline, trace
from vertigrad.session.commands import SaveTrace, TimeKernels
from vertigrad.session.files import new_file
from vertigrad.session.timeline import Timeline

from .running import LINKED


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = 100.0

    def perf_counter(self) -> float:
        return self.now

    def thread_time(self) -> float:
        return self.now / 2


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(timeline, "time", clock)
    return clock


@pytest.fixture
def timed(steady: Gpu) -> Iterator[Gpu]:
    if not steady.timer.available:
        pytest.skip("no timestamp queries here")
    steady.timer.submissions.clear()
    steady.timer.enabled = True
    yield steady
    steady.timer.enabled = steady.timer.each_kernel = False
    steady.wait_idle()


def tick(line: Timeline, clock: Clock, wait: float, step: float, present: float) -> None:
    """A frame of three phases, in ms."""
    line.begin()
    clock.now += wait / 1e3
    line.enter("step")
    clock.now += step / 1e3
    line.enter("present")
    clock.now += present / 1e3
    line.end()


def test_each_phase_is_measured(steady: Gpu, clock: Clock):
    line = Timeline(steady)
    for wait in (2.0, 4.0, 8.0):
        tick(line, clock, wait, 3.0, 1.0)
    assert list(line.wait_ms) == pytest.approx([2.0, 4.0, 8.0])
    assert list(line.present_ms) == pytest.approx([1.0] * 3)
    assert list(line.frame_ms) == pytest.approx([6.0, 8.0]), "the last one has not ended yet"
    assert list(line.cpu_ms) == pytest.approx([3.0, 4.0, 6.0])
    phases = [name for name, _ in line.frames[-1].phases]
    assert phases == ["wait", "step", "present"]
    assert line.frames[-1].end - line.frames[-1].begin == pytest.approx(0.012)
    assert set(line.series()) == {"frame", "CPU", "compute", "draw", "present", "wait"}


def test_late_frames_are_counted_as_dropped(steady: Gpu, clock: Clock):
    line = Timeline(steady)
    line.refresh_ms = 10.0
    for wait in (8.0, 12.0, 14.0, 28.0, 50.0, 3.0):
        tick(line, clock, wait, 0.0, 0.0)
    assert (line.dropped, line.shown) == (2 + 4, 5)
    line.requested_ms = 50.0  # what the user requests is less
    tick(line, clock, 60.0, 0.0, 0.0)
    tick(line, clock, 1.0, 0.0, 0.0)
    assert line.dropped == 6


def test_an_idle_loop_drops_no_frames(steady: Gpu, clock: Clock):
    line = Timeline(steady)
    line.refresh_ms = 10.0
    tick(line, clock, 1.0, 1.0, 1.0)
    assert not line.resting
    line.mark_idle()
    clock.now += 5.0
    tick(line, clock, 1.0, 1.0, 1.0)
    assert line.dropped == 0 and not len(line.frame_ms) and line.resting
    tick(line, clock, 1.0, 1.0, 1.0)
    assert not line.resting


def test_a_frame_that_does_not_end_is_discarded(steady: Gpu, clock: Clock):
    line = Timeline(steady)
    line.begin()
    line.enter("input")
    clock.now += 1.0
    tick(line, clock, 1.0, 1.0, 1.0)
    assert len(line.frames) == 1 and [name for name, _ in line.frames[0].phases] == ["wait", "step", "present"]


def test_bytes_are_counted_per_frame(opened, steady: Gpu):
    session = opened()
    line = Timeline(steady)
    for read in (False, True, False):
        line.begin()
        if read:
            session.stage.instances["row"].outputs["position"].numpy()
        line.end()
    assert [frame.copied for frame in line.frames] == [0, 96, 0]
    assert all(frame.used > 0 and frame.spare >= 0 for frame in line.frames)


# the trace ----------------------------------------------------------------------------------------------------------


def run(session: Session, frames: int) -> None:
    line = session.timeline
    for _ in range(frames):
        line.begin()
        with session.gpu.frames.frame():
            line.enter("input")
            session.apply()
            line.enter("step")
            session.advance()
            line.enter("submit")
        line.enter("present")
        line.end()
    session.gpu.wait_idle()
    while session.gpu.readback.in_flight:
        session.gpu.poll()


def checked(content: dict[str, Any]) -> list[dict[str, Any]]:
    """The events, each checked against the format's rules for its type."""
    assert set(content) <= {"traceEvents", "displayTimeUnit", "otherData"}
    assert content["displayTimeUnit"] in ("ms", "ns")
    for event in content["traceEvents"]:
        assert isinstance(event["name"], str) and event["name"]
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int)
        match event["ph"]:
            case "M":
                known = {"process_name": "name", "thread_name": "name", "thread_sort_index": "sort_index"}
                assert list(event["args"]) == [known[event["name"]]]
            case "X":
                assert event["ts"] >= 0 and event["dur"] >= 0 and isinstance(event["cat"], str)
                assert isinstance(event["args"]["frame"], int)
                assert event["cat"] != "frame" or event["dur"] > 0
            case "C":
                assert event["args"] and all(isinstance(value, int) for value in event["args"].values())
            case other:
                raise AssertionError(f"a phase that nothing here should have: {other}")
    return content["traceEvents"]


def nested(events: list[dict[str, Any]], track: int) -> None:
    """Complete events of one track may be nested, but must not overlap partially."""
    ours = [event for event in events if event["ph"] == "X" and event["tid"] == track]
    open_: list[float] = []
    for event in sorted(ours, key=lambda event: (event["ts"], -event["dur"])):
        end = event["ts"] + event["dur"]
        while open_ and open_[-1] <= event["ts"] + 1e-3:
            open_.pop()
        assert not open_ or end <= open_[-1] + 1e-3, event
        open_.append(end)


def test_a_trace_has_every_frame_with_its_phases_and_passes(opened, timed: Gpu, tmp_path: Path):
    session = opened(LINKED)
    run(session, 6)
    session.post(SaveTrace(tmp_path / "run.json"))
    run(session, 1)
    events = checked(json.loads((tmp_path / "run.json").read_text("utf-8")))
    numbers = [frame.number for frame in session.timeline.frames][:6]
    by_track = {track: [e for e in events if e["ph"] == "X" and e["tid"] == track] for track in (1, 2, 3)}
    assert [e["args"]["frame"] for e in by_track[1] if e["cat"] == "frame"] == numbers
    for number in numbers:
        phases = [e["name"] for e in by_track[1] if e["cat"] == "phase" and e["args"]["frame"] == number]
        assert phases == ["wait", "input", "step", "submit", "present"]
        groups = [e["name"] for e in by_track[2] if e["args"]["frame"] == number]
        assert groups == ["row.step", "echo.step", "late.step"]
    assert not by_track[3], "kernels were not timed"
    nested(events, 1)
    begins = [e["ts"] for e in by_track[1] if e["name"] == "input"]
    for number, begin in zip(numbers, begins, strict=True):
        passes = [e for e in by_track[2] if e["args"]["frame"] == number]
        assert min(e["ts"] for e in passes) >= begin, "no pass begins before its commands were recorded"
    assert {e["name"] for e in events if e["ph"] == "C"} == {"geometry copied [bytes]", "GPU memory [bytes]"}
    assert session.written["save trace"] == tmp_path / "run.json"


def test_kernels_have_a_track_when_each_is_timed(opened, timed: Gpu, tmp_path: Path):
    session = opened(LINKED)
    session.post(TimeKernels(True))
    run(session, 3)
    session.post(TimeKernels(False))
    run(session, 1)
    events = checked(trace.trace(session.timeline, timed, "a scene"))
    kernels = [(e["name"], e["args"]["group"]) for e in events if e["ph"] == "X" and e["tid"] == 3]
    assert kernels[:3] == [("rise", "row.step"), ("scale", "echo.step"), ("scale", "late.step")]
    assert len(kernels) == 9
    assert {e["args"]["name"] for e in events if e["name"] == "thread_name"} >= {"GPU: kernels"}


def test_a_trace_has_a_limited_duration(steady: Gpu, clock: Clock):
    line = Timeline(steady)
    for _ in range(100):
        tick(line, clock, 100.0, 0.0, 0.0)
    events = checked(trace.trace(line, steady, "a scene", seconds=2.0))
    assert 19 <= sum(e["ph"] == "X" and e["cat"] == "frame" for e in events) <= 21


def test_stored_frames_are_bounded(steady: Gpu, clock: Clock, monkeypatch: pytest.MonkeyPatch):
    line = Timeline(steady)
    for _ in range(timeline.CAPACITY + 50):
        tick(line, clock, 1.0, 0.0, 0.0)
    assert len(line.frames) == len(line.wait_ms) == timeline.CAPACITY
    assert steady.timer.submissions.maxlen is not None


def test_the_clocks_are_aligned_by_the_smallest_difference():
    def submission(recorded: float, begin: float) -> Timed:
        return Timed(
            1, recorded, recorded + 1, (Span("a", "", begin, begin + 5e6), Span("b", "", begin + 6e6, begin + 7e6))
        )

    assert trace.clock_offset([submission(10.0, 1e9), submission(11.0, 1.5e9), submission(12.0, 3e9)]) == 9.5
    assert trace.clock_offset([]) == 0.0


def test_an_empty_trace_and_an_unwritable_file_are_reported(opened, tmp_path: Path):
    session = opened()
    session.post(SaveTrace(tmp_path / "none.json"))
    session.apply()
    assert "nothing to trace" in session.messages["save trace"]
    run(session, 2)
    (tmp_path / "file").write_text("")
    session.post(SaveTrace(tmp_path / "file" / "run.json"))
    session.apply()
    assert "run.json" in session.messages["save trace"]
    with pytest.raises(InputError):
        write_file(tmp_path / "nowhere" / "run.json", trace.packed({"traceEvents": []}))
    assert [path.name for path in tmp_path.iterdir() if "json" in path.name] == []


def test_a_trace_is_written_atomically(tmp_path: Path):
    path = tmp_path / "run.json"
    write_file(path, trace.packed({"traceEvents": [1]}))
    with pytest.raises(TypeError):
        write_file(path, trace.packed({"traceEvents": [object()]}))
    assert json.loads(path.read_text()) == {"traceEvents": [1]}
    assert [other.name for other in tmp_path.iterdir()] == ["run.json"]


def test_files_without_a_name_get_a_default_name(tmp_path: Path):
    first = new_file("a/b: c", ".json", tmp_path)
    assert first == tmp_path / "a_b_c.json"
    first.touch()
    assert new_file("a/b: c", ".json", tmp_path) == tmp_path / "a_b_c-2.json"
    assert new_file("…", ".npy", tmp_path).suffix == ".npy"


def test_measuring_a_frame_costs_little(steady: Gpu):
    """The cost is that of a few dictionaries: 10 to 20 µs per frame; the limit is 500."""
    line, phases = Timeline(steady), ("input", "step", "gui", "draw", "submit", "present")

    def frame() -> None:
        line.begin()
        for phase in phases:
            line.enter(phase)
        line.end()

    def bare() -> list[dict[str, float]]:
        return [{phase: time.perf_counter() for phase in phases} for _ in range(5)]

    def cost(work: Callable[[], object]) -> float:
        begun = time.thread_time()
        work()
        return time.thread_time() - begun

    times = [(cost(frame), cost(bare)) for _ in range(300)]  # alternating, so that both run under the same load
    ours, reference = (sorted(part)[75] for part in zip(*times, strict=True))
    assert ours < 4.0 * reference, (ours, reference)
