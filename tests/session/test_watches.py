"""Watches: statistics over time, conditions that stop the run, and the guard that checks all outputs."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from vertigrad import ops
from vertigrad.gpu import Gpu
from vertigrad.ops.summary import Condition
from vertigrad.session import STEP, Session, watches
from vertigrad.session.commands import AddWatch, DismissAlarm, Guard, Play, RemoveWatch, Reset
from vertigrad.session.watches import EVERY, GUARD_EVERY, STATISTICS, Watch, guarded

from .running import LINKED, run_frame, values

FAR = """
version = 1

[models.row]
type = "rising"
count = 300

[layers.dots]
type = "points"
position = "row.position"
"""


def frame(session: Session, spoil: Callable[[], object] = lambda: None) -> None:
    """Run one frame with all watches that are due."""
    with session.gpu.frames.frame():
        session.apply()
        session.advance()
        spoil()
        session.request_readbacks()


def frames(session: Session, count: int) -> None:
    for _ in range(count):
        frame(session)


def arrive(session: Session) -> None:
    """Wait for all pending readbacks."""
    session.gpu.sync()
    while session.gpu.readback.in_flight:
        session.gpu.poll()
    session.apply()


def spoil(session: Session, element: tuple[int, ...], value: float, output: str = "position") -> None:
    """Write a value into an output, as a faulty model would."""
    tensor = session.stage.instances["row"].outputs[output]
    with tensor[element] as part:
        ops.assign(part, value)


def watched(session: Session, watch: Watch) -> list[float]:
    return list(session.watches.history[watch].values)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_every_statistic_is_that_of_the_tensor(opened, statistic: str):
    session = opened(FAR)
    watch = Watch("row.position", statistic)
    session.post(AddWatch(watch))
    frame(session)
    arrive(session)
    array = values(session, "row.position").astype(np.float64)
    want = {
        **{name: getattr(np, name)(array) for name in ("min", "max", "mean", "std")},
        **{"norm": np.linalg.norm(array), "nan": 0, "infinite": 0},
    }
    assert watched(session, watch) == [pytest.approx(want[statistic], rel=1e-5, abs=1e-6)]
    assert session.watches.latest[watch].size == 900


def test_a_watch_is_evaluated_immediately_and_then_every_few_steps(opened):
    session = opened(FAR)
    session.watches.guarding = False
    watch = Watch("row.phase", "max")
    session.post(AddWatch(watch))
    for _ in range(5 * EVERY):
        frame(session)
        arrive(session)
    noted = watched(session, watch)
    assert len(noted) == 6
    assert noted[0] == pytest.approx(STEP) and np.diff(noted[1:]) == pytest.approx(EVERY * STEP)
    assert list(session.watches.history[watch].times) == pytest.approx(noted), "the model's own time"


def test_watches_are_not_evaluated_while_nothing_changes(opened, steady: Gpu):
    session = opened(FAR)
    session.post(AddWatch(Watch("row.phase", "max")))
    session.post(Play(False))
    frames(session, 3)
    arrive(session)
    dispatches = steady.tracker.submitted
    for _ in range(3 * GUARD_EVERY):
        frame(session)
    assert steady.tracker.submitted == dispatches
    assert session.idle


def test_two_statistics_of_a_tensor_need_one_readback(opened, monkeypatch: pytest.MonkeyPatch):
    session = opened(FAR)
    session.watches.guarding = False
    read: list[str] = []
    plain = watches.summarize
    monkeypatch.setattr(
        watches, "summarize", lambda tensor, *more, **named: (read.append(tensor.name), plain(tensor, *more, **named))
    )
    for statistic in ("min", "max", "norm"):
        session.post(AddWatch(Watch("row.position", statistic)))
    session.post(AddWatch(Watch("row.position", "max", Condition(above=1e9))))
    session.post(AddWatch(Watch("row.phase", "max")))
    frame(session)
    arrive(session)
    assert sorted(read) == ["row.phase", "row.position", "row.position"]
    assert all(len(history) == 1 for history in session.watches.history.values())


def test_a_limit_stops_the_run_and_selects_the_row(opened):
    session = opened(FAR)
    session.post(AddWatch(Watch("row.position", "max", Condition(above=50.0))))
    frame(session, lambda: (spoil(session, (17, 1), 60.0), spoil(session, (203, 0), 70.0)))
    assert session.playing and session.watches.alarm is None, "it cannot be known already"
    arrive(session)
    alarm = session.watches.alarm
    assert alarm is not None and not session.playing
    assert (alarm.tensor, alarm.row, alarm.element, alarm.met, alarm.frame) == ("row.position", 17, (17, 1), 2, 1)
    assert session.messages["watch"] == (
        f"the run was stopped: row.position[17, 1] is above 50, and 1 more (step 1, {STEP:.2f} s)"
    )
    assert session.selection.row is not None
    assert (session.selection.row.layer, session.selection.row.row) == ("dots", 17)
    time = session.time
    run_frame(session)
    assert session.time == time


def test_a_resumed_run_stops_again_only_for_a_new_reason(opened):
    session = opened(FAR)
    session.post(AddWatch(Watch("row.phase", "max", Condition(above=50.0))))
    frame(session, lambda: spoil(session, (3,), 60.0, "phase"))
    arrive(session)
    assert not session.playing
    session.post(Play(True))
    session.post(DismissAlarm())
    for _ in range(3 * EVERY):
        frame(session)
        arrive(session)
    assert session.playing and session.watches.alarm is None, "the same element is still there"
    for _ in range(2 * EVERY):
        frame(session, lambda: spoil(session, (3,), 0.0, "phase"))
        arrive(session)
    for _ in range(2 * EVERY):
        frame(session, lambda: spoil(session, (4,), 99.0, "phase"))
        arrive(session)
    assert session.watches.alarm is not None and session.watches.alarm.row == 4
    assert not session.playing


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_the_guard_finds_non_finite_values_in_any_output(opened, value: float):
    session = opened(FAR)
    for _ in range(3 * GUARD_EVERY):
        frame(session, lambda: spoil(session, (250, 2), value))
        arrive(session)
        if not session.playing:
            break
    alarm = session.watches.alarm
    assert alarm is not None and (alarm.tensor, alarm.element) == ("row.position", (250, 2))


def test_the_guard_checks_every_twentieth_step(opened):
    session = opened(FAR)
    steps = []
    for step in range(1, 3 * GUARD_EVERY):
        frame(session, lambda: spoil(session, (250, 2), math.nan))
        if session.watches.pending:
            steps.append(step)
            arrive(session)
            session.watches.alarm = None
    assert steps == [GUARD_EVERY, 2 * GUARD_EVERY]


def test_the_guard_can_be_disabled(opened):
    session = opened(FAR)
    session.post(Guard(False))
    for _ in range(3 * GUARD_EVERY):
        frame(session, lambda: spoil(session, (250, 2), math.nan))
        arrive(session)
    assert session.playing and session.watches.alarm is None


def test_a_guard_of_every_step_finds_the_step_of_the_error(opened):
    session = opened(LINKED)
    session.watches.thorough = True
    frames(session, 3)
    arrive(session)
    assert not session.watches.over
    frame(session, lambda: spoil(session, (2, 0), math.nan))
    session.inspect_now()
    assert session.watches.over
    assert session.watches.alarm is not None and session.watches.alarm.row == 2
    assert session.watches.alarm.frame == 4


def test_a_block_shared_by_two_outputs_is_checked_once(steady: Gpu, opened):
    from vertigrad import resources

    with Session(steady, resources.path("scenes", "nbody.toml"), ["galaxy.count=64"]) as session:
        names = set(guarded(session.stage))
        every = set(session.stage.instances["galaxy"].outputs)
    shared = {"star_position", "star_speed", "star_galaxy"}
    assert names == {f"galaxy.{name}" for name in every - shared}


def test_a_missing_tensor_is_reported(opened):
    session = opened(FAR)
    session.post(AddWatch(Watch("row.positon")))
    run_frame(session)
    assert "positon" in session.messages["watch"] and "position" in session.messages["watch"]
    session.post(AddWatch(Watch("row.position", "median")))
    run_frame(session)
    assert "median" in session.messages["watch"]
    assert not len(session.watches)


def test_a_watch_can_be_removed_while_its_readback_is_pending(opened):
    session = opened(FAR)
    watch = Watch("row.phase")
    session.post(AddWatch(watch))
    frame(session)
    session.post(RemoveWatch(watch))
    session.apply()
    arrive(session)
    assert list(session.watches) == [] and not session.watches.latest


def test_a_reset_clears_the_history(opened):
    session = opened(FAR)
    watch = Watch("row.phase", "max")
    session.post(AddWatch(watch))
    for _ in range(3 * EVERY):
        frame(session)
        arrive(session)
    session.post(Reset())
    for _ in range(2 * EVERY):
        frame(session)
        arrive(session)
    assert len(watched(session, watch)) < 4
    assert watched(session, watch)[-1] < 3 * EVERY * STEP


def test_a_dropped_frame_is_evaluated_again(opened):
    session = opened(FAR)
    watch = Watch("row.phase", "max")
    session.post(AddWatch(watch))
    with pytest.raises(ZeroDivisionError), session.gpu.frames.frame():
        session.apply()
        session.advance()
        session.request_readbacks()
        _ = 1 / 0
    arrive(session)
    frame(session)
    arrive(session)
    assert len(watched(session, watch)) == 1 and session.playing


def test_watching_copies_nothing(opened, steady: Gpu):
    session = opened(FAR)
    session.post(AddWatch(Watch("row.position", "norm", Condition(nan=True))))
    before = steady.meter.read()["geometry"]
    frames(session, 30)
    arrive(session)
    assert steady.meter.read()["geometry"] == before


def test_watches_are_not_evaluated_in_the_middle_of_a_step(opened):
    session = opened(FAR)
    session.post(AddWatch(Watch("row.phase", "max")))
    session.apply()
    with session.gpu.frames.frame():
        session.stage.begin_step(STEP)
        session.request_readbacks()
        assert not session.watches.pending
        session.stage.cancel()
        session.request_readbacks()
        assert session.watches.pending
    arrive(session)


@pytest.mark.parametrize(("output", "row", "found"), [("mass", 5, True), ("speed", 60, False), ("star_speed", 7, True)])
def test_the_row_is_found_where_a_slice_of_the_tensor_is_drawn(steady: Gpu, output: str, row: int, found: bool):
    """The stars are the first rows of all bodies; the rows after them are not drawn."""
    from vertigrad import resources

    with Session(steady, resources.path("scenes", "nbody.toml"), ["galaxy.count=64"]) as session:
        session.watches.guarding = False
        session.post(AddWatch(Watch(f"galaxy.{output}", "max", Condition(above=1e6))))
        session.post(Play(False))
        with session.stage.instances["galaxy"].outputs[output][row] as part:
            ops.assign(part, 1e7)
        frame(session)
        arrive(session)
        alarm, selected = session.watches.alarm, session.selection.row
        assert alarm is not None and alarm.row == row
        assert (selected is not None) == (found and output != "mass")
        if selected is not None:
            assert (selected.layer, selected.row) == ("stars", row)


def test_the_first_of_several_errors_is_reported(opened):
    session = opened(LINKED)
    session.watches.thorough = True
    frame(session, lambda: (spoil(session, (2, 0), math.nan), spoil(session, (5,), math.nan, "phase")))
    arrive(session)
    assert session.watches.alarm is not None and session.watches.alarm.tensor == "row.position"
