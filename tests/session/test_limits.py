"""Diagnostics above the limits of their models: reported while it lasts, and a condition to stop if enabled."""

import math

import pytest

from vertigrad.headless.render import MEASURED, render
from vertigrad.models.base import Limit
from vertigrad.panels import watch
from vertigrad.session import RunRecord, Session
from vertigrad.session.commands import Play, Reset, SetParameter, StopAtLimits
from vertigrad.session.diagnostics import Limits, limits

from .interactive import INTERACTIVE, Interactive, do, run_frame, use_interactive
from .running import LINKED, written


@pytest.fixture
def row(steady, tmp_path, monkeypatch):
    use_interactive(monkeypatch)
    with Session(steady, written(tmp_path, INTERACTIVE)) as session:
        session.playing = False
        yield session


def measure(session, height=None):
    if height is not None:
        do(session, SetParameter("models.row", "height", height))
    with session.gpu.frames.frame():
        session.apply()
        session.measure()
    run_frame(session)
    run_frame(session)


def test_an_exceeded_limit_is_reported_while_it_lasts(row):
    measure(row)
    assert row.diagnostics["row.top"] == pytest.approx(0.0) and row.limits.exceeded == ()
    measure(row, 0.41)
    (excess,) = row.limits.exceeded
    assert (excess.name, excess.limit) == ("row.top", Limit(0.4, "go down again"))
    assert excess.value == pytest.approx(0.41)
    assert str(excess) == "row.top is 0.41, above 0.4: go down again"
    assert not row.messages, "it is no error"
    measure(row, 0.39)
    assert row.limits.exceeded == ()


def test_a_value_at_its_limit_passes_and_nan_does_not(row):
    tested = Limits(row.stage)
    assert tested.check({"row.top": 0.4}) is None and not tested.exceeded
    assert tested.check({"row.top": math.nan}).name == "row.top"
    assert tested.check({"row.top": math.inf}) is None and tested.exceeded, "it was exceeded before"
    assert tested.check({}) is None and not tested.exceeded
    assert tested.check({"row.bottom": 9.0}) is None, "it has no limit"


def test_the_worst_value_is_the_largest_so_far(row):
    tested = Limits(row.stage)

    def worst(value):
        tested.check({"row.top": value})
        return tested.worst["row.top"].value

    assert [worst(value) for value in (0.5, 0.9, 0.6, 0.3, 0.7, 1.1)] == [0.5, 0.9, 0.9, 0.9, 0.9, 1.1]
    assert all(math.isnan(worst(value)) for value in (math.nan, 0.5, math.inf)), "nothing is worse than no number"


def test_the_run_stops_once_and_only_if_enabled(row):
    do(row, SetParameter("models.row", "height", 0.5), Play(True))
    measure(row)
    assert row.playing and row.limits.exceeded
    do(row, SetParameter("models.row", "height", 0.0))
    measure(row)
    do(row, StopAtLimits(True), SetParameter("models.row", "height", 0.5))
    measure(row)
    assert not row.playing
    assert row.messages["limits"].startswith("the run was stopped: row.top is 0.6")
    do(row, Play(True))
    measure(row)
    assert row.playing, "the user lets it go on although it is still above"
    do(row, StopAtLimits(False))
    assert "limits" not in row.messages


def test_another_scene_has_other_limits(row, tmp_path):
    measure(row, 0.5)
    assert limits(row.stage) == {"row.top": Interactive.limits["top"]}
    row.reload(written(tmp_path, LINKED, "other.toml"))
    run_frame(row)
    assert row.limits.exceeded == () and limits(row.stage) == {}


def test_the_watch_panel_draws_the_bound(row):
    measure(row, 0.1)
    cells = {cell.key: cell for cell in watch.cells(row)}
    top, bottom = cells["row.top"], cells["row.bottom"]
    assert (top.bound, bottom.bound) == (0.4, None)
    assert top.y_limits[0] < 0.1 and top.y_limits[1] > 0.4, "the line of the bound is in sight"
    assert "up to 0.4 is fine. go down again" in top.note
    assert not top.bad
    measure(row, 0.45)
    assert {cell.key: cell.bad for cell in watch.cells(row)} == {"row.top": True, "row.bottom": False}


def test_a_restart_clears_exceeded_limits(row):
    measure(row, 0.5)
    do(row, SetParameter("models.row", "height", 0.0), Reset())
    measure(row)
    assert row.limits.exceeded == ()


HURRIED = """
version = 1
[models.skin]
type = "gray_scott"
resolution = 16
time_scale = 2e4
[layers.skin]
type = "points"
position = "skin.position"
size = 0.1
"""  # 333 time units are due in a frame, and a step takes 1; 128 steps are taken


@pytest.fixture
def hurried(steady, tmp_path):
    with Session(steady, written(tmp_path, HURRIED)) as session:
        yield session


def test_dropped_time_is_above_a_limit_while_it_lasts(hurried):
    for _ in range(3):
        run_frame(hurried)
    measure(hurried)
    assert hurried.diagnostics["skin.dropped_time"] == pytest.approx(1 - 64 / 166, abs=0.01)
    (excess,) = hurried.limits.exceeded
    assert excess.name == "skin.dropped_time" and "slowly" in str(excess)
    do(hurried, SetParameter("models.skin", "time_scale", 600.0))
    measure(hurried)
    assert hurried.diagnostics["skin.dropped_time"] == 0.0
    assert hurried.limits.exceeded == ()
    assert hurried.limits.worst["skin.dropped_time"] == excess, "the report still knows"


def test_the_report_names_what_was_exceeded(hurried):
    record = RunRecord(hurried.gpu)
    run_frame(hurried)
    report = record.finish(hurried)
    (limit,) = report["limits"]
    assert limit.startswith("skin.dropped_time is 0.6")


def test_rendering_drops_no_time(hurried):
    record = render(hurried, 3, (32, 32))
    assert record.finish(hurried)["limits"] == []


def test_rendered_frames_hold_all_steps(steady, tmp_path):
    """Three frames, and the same time in thirty frames: the same steps, since none is dropped."""
    fields = []
    for frames, rate in ((3, 2e4), (30, 2e3)):
        with Session(steady, written(tmp_path, HURRIED), sets=[f"skin.time_scale={rate}"]) as session:
            render(session, frames, (16, 16))
            fields.append(session.stage.instances["skin"].outputs["u"].numpy())
    assert (fields[0] == fields[1]).all()


def test_limits_are_checked_during_a_render(row):
    row.clock.play(True)
    do(row, SetParameter("models.row", "height", 0.5))
    render(row, MEASURED + 2, (16, 16))
    assert "row.top" in row.limits.worst
