"""`RunRecord`: what is counted, and in which category."""

import gc
import json
import math
from collections.abc import Iterator

import numpy as np
import pytest

from vertigrad import resources
from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.session import RunRecord, Session
from vertigrad.session.commands import Reload, SetParameter
from vertigrad.session.report import write
from vertigrad.session.statistics import statistics
from vertigrad.tensor import Tensor

from .running import LINKED, run_frame

DIRECTIONS = ("host_to_device", "device_to_device", "device_to_host")


def geometry(report) -> list[float]:
    return [report["bytes_per_frame"][direction] for direction in DIRECTIONS]


def recorded(session: Session, frames: int, between=lambda: None) -> dict:
    session.gpu.sync()
    record = RunRecord(session.gpu)
    for _ in range(frames):
        run_frame(session)
        between()
        record.frame(1.0, 2.0)
    return record.finish(session)


def test_frames_that_copy_nothing(opened):
    report = recorded(opened(LINKED), 4)
    assert (report["frames"], report["submits_per_frame"], report["quality"]) == (4, 1.0, "high")
    assert geometry(report) == [0, 0, 0]
    assert report["bytes_per_frame"]["uniforms"]["host_to_device"] > 0


def test_bytes_are_an_average_over_the_frames(opened):
    session = opened()
    output = session.stage.instances["row"].outputs["position"]
    assert geometry(recorded(session, 4, lambda: output.numpy())) == [0, 0, 96]


def test_copies_before_the_record_are_not_counted(opened, steady: Gpu):
    session = opened()
    session.stage.instances["row"].outputs["position"].numpy()
    with Tensor.zeros(4) as source:
        source.numpy()
    assert geometry(recorded(session, 2)) == [0, 0, 0]


class Uploaded:
    """A command that uploads data, as the rebuild of a model does."""

    topic = "test"

    def apply(self, session: Session) -> None:
        Tensor.from_numpy(np.zeros(8, np.float32), name="start").close()


def test_rebuilding_a_model_counts_as_loading_and_not_as_a_copy_of_a_frame(opened):
    session = opened()
    assert session.allocations.loaded["host_to_device"] == 0
    session.post(Uploaded())
    session.post(SetParameter("models.row", "count", 20))
    session.post(Reload(restart=True))
    report = recorded(session, 3)
    assert session.messages.keys() == {"edits"}
    assert geometry(report) == [0, 0, 0]
    assert report["bytes_loaded"] == {"host_to_device": 32, "device_to_device": 0, "device_to_host": 0}


def test_a_copy_in_a_frame_with_commands_is_still_a_copy(opened):
    session = opened()
    session.post(Uploaded())
    output = session.stage.instances["row"].outputs["position"]
    assert geometry(recorded(session, 1, lambda: output.numpy())) == [0, 0, 96]


def test_the_loading_of_the_first_scene_is_reported(steady: Gpu):
    with Session(steady, resources.path("scenes", "nbody.toml"), ["galaxy.count=100"]) as session:
        loaded = session.allocations.loaded["host_to_device"]
        assert loaded >= 100 * 32, "positions, masses and velocities at least"
        report = recorded(session, 2)
    assert geometry(report) == [0, 0, 0]
    assert report["bytes_loaded"]["host_to_device"] == loaded


@pytest.mark.parametrize(("name", "small"), [("nbody", "galaxy.count=100"), ("neural_field", "terrain.resolution=12")])
def test_diagnostics_are_counted_separately_and_copy_nothing(steady: Gpu, name, small):
    with Session(steady, resources.path("scenes", f"{name}.toml"), [small]) as session:
        steady.sync()
        record = RunRecord(steady)
        for _ in range(12):
            with steady.frames.frame():
                session.apply()
                session.advance()
                session.measure()
            record.frame(1.0, 1.0)
            steady.wait_idle()
        session.apply()
        assert len(session.diagnostics) >= 3
        report = record.finish(session)
    assert geometry(report) == [0, 0, 0]
    assert report["bytes_per_frame"]["diagnostics"]["device_to_host"] > 0
    assert (report["submits_per_frame"], report["memory"]["leaked_blocks"]) == (1.0, 0)


def test_finish_closes_the_session(opened, steady: Gpu, added):
    live = len(steady.tracker.live)
    session = opened()
    report = recorded(session, 1)
    assert report["memory"]["live_blocks"] == live + 4
    assert (report["memory"]["leaked_blocks"], report["memory"]["leaks"]) == (0, [])
    assert added() == []


def test_a_block_that_remains_is_a_leak(opened):
    session = opened()
    left = Tensor.zeros(5, name="left")
    report = recorded(session, 1)
    assert report["memory"]["leaked_blocks"] == 1
    (leak,) = report["memory"]["leaks"]
    assert leak.startswith("left, 20 bytes, created at ")
    assert "test_report.py" in leak
    left.close()


def test_a_handle_in_a_reference_cycle_is_counted_as_never_closed(opened):
    class Circle:
        pass

    def drop():
        circle = Circle()
        circle.itself, circle.held = circle, Tensor.zeros(5, name="dropped")

    gc.disable()
    try:
        report = recorded(opened(), 2, drop)
    finally:
        gc.enable()
    assert (report["memory"]["never_closed"], report["memory"]["leaked_blocks"]) == (2, 0)


def test_the_report_is_plain_json(opened, tmp_path):
    report = recorded(opened(LINKED), 2)
    write(report, tmp_path / "a" / "r.json")
    assert json.loads((tmp_path / "a" / "r.json").read_text()) == json.loads(json.dumps(report))
    with pytest.raises(InputError, match="cannot be written"):
        write(report, tmp_path / "a")


def test_statistics():
    summary = statistics([float(n) for n in range(101)])
    assert summary == {"mean": 50.0, "p50": 50.0, "p95": 95.0, "p99": 99.0}
    assert statistics([3.0]) == {"mean": 3.0, "p50": 3.0, "p95": 3.0, "p99": 3.0}
    assert statistics([]) is None


@pytest.fixture
def timer(steady: Gpu, monkeypatch) -> Iterator[object]:
    monkeypatch.setattr(steady.timer, "latest", {})
    yield steady.timer


def test_gpu_times_are_recorded_once_when_they_arrive(opened, timer):
    session = opened()
    timer.latest = {"row.step": 100.0, "layers": 100.0}  # measured before the record
    record = RunRecord(session.gpu)
    record.frame(1.0, 1.0)
    timer.latest = {"row.step": 1.0, "other.step": 2.0, "compute": 0.5, "layers": 4.0, "post-process": 8.0}
    record.frame(1.0, 1.0)
    record.frame(1.0, 1.0)
    timer.latest = {"row.step": 3.0, "layers": 5.0}  # some groups are not in every frame
    record.take_times()
    times = record.finish(session)["ms_per_frame"]
    assert (list(record.gpu_times.compute_ms), list(record.gpu_times.draw_ms)) == ([3.5, 3.0], [12.0, 5.0])
    assert times["compute"]["mean"] == pytest.approx(3.25)
    assert times["groups"]["row.step"]["mean"] == pytest.approx(2.0)
    assert times["groups"]["post-process"]["mean"] == pytest.approx(8.0)
    assert times["cpu"] == {"mean": 1.0, "p50": 1.0, "p95": 1.0, "p99": 1.0}


def test_a_record_of_no_frames_can_be_finished(opened):
    report = RunRecord(opened().gpu).finish(opened())
    assert (report["frames"], report["ms_per_frame"]["cpu"]) == (0, None)
    assert all(math.isfinite(value) for value in geometry(report))
