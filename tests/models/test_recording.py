"""Recordings: what was written comes back at the same times, scrubbed, looped, and compared with a run."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from vertigrad.errors import InputError, SceneError
from vertigrad.headless import render
from vertigrad.headless.recorded_run import RecordedRun
from vertigrad.models.data.frames_ahead import FramesAhead
from vertigrad.models.data.recording_file import Recorded, RecordedTensor, RecordingWriter, open_recording
from vertigrad.scene.packaged import scene_path
from vertigrad.scene.recorded_scene import recording_text
from vertigrad.session import Session
from vertigrad.session.commands import GoTo, SetParameter

from ..session.running import SCENE, run_frame, use_models, values, written

zarr = pytest.importorskip("zarr")

FRAMES = 6
BOTH = (
    SCENE
    + """
[models.before]
type = "recording"
file = "run.vgz"
compared = "position"
inputs = { live = "row.position" }
"""
)


@pytest.fixture
def recorded(steady, tmp_path, monkeypatch):
    """The folder of a scene and its recording, run.vgz."""
    use_models(monkeypatch)
    record(written(tmp_path, SCENE), tmp_path / "run.vgz", steady)
    return tmp_path


def record(scene: Path, path: Path, gpu, names=(), every: int = 1, frames: int = FRAMES) -> None:
    with Session(gpu, scene) as session:
        render(session, frames, (1, 1), draw=False, files=[RecordedRun(path, session, names, frames, every)])


def frames(session: Session, count: int) -> None:
    for _ in range(count):
        run_frame(session)


def top(session: Session, output: str = "recorded.position") -> float:
    return float(values(session, output)[0, 1])


def test_a_recording_opens_as_the_scene_that_was_recorded(recorded, steady):
    with Session(steady, recorded / "run.vgz") as session:
        assert session.scene.title == "A row that rises, recorded"
        assert list(session.stage.layers) == ["dots"]
        assert session.stage.layers["dots"].style.range == (0, 1)
        found = []
        for _ in range(FRAMES + 2):
            frames(session, 1)
            found.append(top(session))
        steps = np.minimum(np.arange(1, FRAMES + 3), FRAMES)  # the last frame stays
        np.testing.assert_allclose(found, steps / 60, rtol=1e-6)
        session.clock.set_rewind_memory(1 << 20)
        session.reset()
        frames(session, 5)
        session.carry_out(GoTo(2))
        frames(session, 1)
        assert top(session) == pytest.approx(2 / 60)
        session.carry_out(SetParameter("models.recorded", "play", False))
        session.carry_out(SetParameter("models.recorded", "frame", 4))
        frames(session, 2)
        assert top(session) == pytest.approx(5 / 60)
        assert all(one.holds for one in session.stage.instances["recorded"].model.compare_with_reference())
        session.carry_out(SetParameter("models.recorded", "play", True))
        session.carry_out(SetParameter("models.recorded", "loop", True))
        session.playing = True
        session.reset()
        frames(session, FRAMES + 2)
        assert top(session) == pytest.approx(2 / 60)


def test_the_difference_to_a_run_is_that_of_its_rows(recorded, steady):
    written(recorded, BOTH, "both.toml")
    with Session(steady, recorded / "both.toml") as session:
        frames(session, 3)
        assert np.abs(values(session, "before.difference")).max() == 0
        np.testing.assert_array_equal(values(session, "before.position"), values(session, "row.position"))
        session.carry_out(SetParameter("models.row", "height", -0.25))
        frames(session, 1)
        np.testing.assert_allclose(values(session, "before.difference"), np.full(8, 0.25), rtol=1e-5)
        assert all(one.holds for one in session.stage.instances["before"].model.compare_with_reference())


def test_chosen_outputs_and_every_nth_frame_are_in_a_folder_that_can_be_read_before_its_end(recorded, steady):
    folder = recorded / "run.zarr"
    record(recorded / "scene.toml", folder, steady, ["row.phase"], every=2)
    with closing(open_recording(folder)) as found:
        assert (list(found.tensors), found.count) == (["row.phase"], 3)
        assert [found.frame("row.phase", i)[0] for i in range(3)] == pytest.approx([2 / 60, 4 / 60, 6 / 60])
    with closing(RecordingWriter(folder, {"a.x": RecordedTensor((2,), "u32")}, Recorded("t", 0.0, 1.0), 9)) as writer:
        for number in range(2):
            writer.add({"a.x": np.full(2, number, np.uint32)})
        with closing(open_recording(folder / "zarr.json")) as found:
            assert (found.count, found.frame("a.x", 1).tolist()) == (2, [1, 1])
            assert found.frame("a.x", 0).tolist() == [0, 0]  # zeros are written too
        (folder / "a.x/c/0/0").unlink()
        with closing(open_recording(folder)) as found, pytest.raises(InputError, match=r"frame 0 of a\.x is missing"):
            found.frame("a.x", 0)


def test_a_recording_is_there_when_it_is_complete_and_without_frames_not_at_all(tmp_path):
    path, tensors = tmp_path / "run.vgz", {"a.x": RecordedTensor((2,), "f32")}
    writer = RecordingWriter(path, tensors, Recorded("t", 0.0, 1.0), 3)
    assert not path.exists()
    writer.add({"a.x": np.ones(2, np.float32)})
    writer.close()
    assert [one.name for one in tmp_path.iterdir()] == ["run.vgz"]
    RecordingWriter(tmp_path / "none.vgz", tensors, Recorded("t", 0.0, 1.0), 3).close()
    assert [one.name for one in tmp_path.iterdir()] == ["run.vgz"]
    (tmp_path / "mine.zarr").mkdir()
    with pytest.raises(InputError, match="is there already and no recording"):
        RecordingWriter(tmp_path / "mine.zarr", tensors, Recorded("t", 0.0, 1.0), 3)


def test_layers_that_draw_what_was_not_recorded_are_left_out(recorded, steady):
    record(recorded / "scene.toml", recorded / "phase.vgz", steady, ["row.phase"])
    with pytest.raises(InputError, match="no layer of its scene draws only what was recorded"):
        recording_text(recorded / "phase.vgz")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('"position"\ninputs', '"positoin"\ninputs'), 'did you mean "position"'),
        (('"row.position" }\n', '"row.phase" }\n'), "live has the shape"),
        (("run.vgz", "other.vgz"), "there is no file"),
    ],
)
def test_wrong_uses_are_reported(recorded, steady, change, message):
    text = BOTH.replace(*change)
    assert text != BOTH
    with pytest.raises((InputError, SceneError), match=message):
        Session(steady, written(recorded, text, "wrong.toml"))


@pytest.mark.turns(3)
def test_the_packaged_scene_runs_as_its_recording_until_something_is_changed(steady):
    with Session(steady, scene_path("recorded_cloth")) as session:
        frames(session, 10)
        assert np.abs(values(session, "before.difference")).max() < 1.5e-3  # it is rounded to 1/1024
        session.carry_out(SetParameter("models.cloth", "gravity", 0.0))
        frames(session, 10)
        assert np.median(values(session, "before.difference")) > 0.07  # g t² / 2 is 0.136 m, and there is damping


@pytest.mark.turns(3)
def test_the_packaged_scene_follows_its_recording_with_the_recorded_friction(steady):
    with Session(steady, scene_path("recorded_cloth"), ["cloth.friction=0.35"]) as session:
        frames(session, 30)
        assert np.median(values(session, "before.difference")) < 0.01  # GPUs round otherwise: 0.004 m on an H100


# reading ahead ------------------------------------------------------------------------------------------------------


class Source:
    """Stands for a recording of `count` frames: notes which are read, and by which thread."""

    path = Path("run.vgz")
    tensors: ClassVar = {"a.x": RecordedTensor((1 << 20,), "f32")}  # 4 MiB

    def __init__(self, count: int):
        self.count, self.read, self.threads, self.damaged = count, list[int](), set[str](), set[int]()

    def frame(self, name: str, index: int) -> np.ndarray:
        self.read.append(index)
        self.threads.add(threading.current_thread().name)
        if index in self.damaged:
            raise InputError(f"frame {index} of {name} is damaged")
        return np.full(1, index, np.float32)


@pytest.fixture
def source():
    return Source(100)


@pytest.fixture
def ahead(source):
    with closing(FramesAhead(source, ["a.x"])) as found:
        yield found


def read_next(source: Source, count: int) -> list[int]:
    """The first `count` frames that were read, and no more for a while."""
    end = time.monotonic() + 5.0
    while len(source.read) < count and time.monotonic() < end:
        time.sleep(0.001)
    time.sleep(0.02)
    return source.read


@pytest.mark.parametrize(
    ("number", "step", "loop", "expected"),
    [
        (0, 1, False, range(16)),
        (60, -2, False, range(60, 28, -2)),
        (95, 1, False, range(95, 100)),
        (95, 1, True, [*range(95, 100), *range(11)]),
        (50, 31, False, range(50, 66)),  # a jump is no direction
    ],
)
def test_a_thread_reads_the_frames_that_will_follow_and_no_more(source, ahead, number, step, loop, expected):
    assert ahead.room == 16
    assert ahead.take(number, step, loop)["a.x"][0] == number
    assert read_next(source, len(expected)) == list(expected)
    assert source.threads == {"reading a recording"}


def test_each_frame_is_read_once_while_it_plays_and_few_are_in_memory(source, ahead):
    for number in range(100):
        assert ahead.take(number)["a.x"][0] == number
        assert len(ahead._ready) <= ahead.room
    assert sorted(source.read) == list(range(100))
    ahead.take(40)
    assert set(ahead._ready) <= set(range(40, 56))  # what is far from there was dropped


def test_large_frames_are_few(source, monkeypatch):
    monkeypatch.setitem(Source.tensors, "a.x", RecordedTensor((1 << 24,), "f32"))
    with closing(FramesAhead(source, ["a.x"])) as ahead:
        assert ahead.room == 2


def test_a_damaged_frame_is_an_error_when_it_is_shown_and_read_again_the_next_time(source, ahead):
    source.damaged = {2}
    assert [int(ahead.take(number)["a.x"][0]) for number in (0, 1)] == [0, 1]
    with pytest.raises(InputError, match=r"frame 2 of a\.x is damaged"):
        ahead.take(2)
    source.damaged = set()
    assert ahead.take(2)["a.x"][0] == 2
    ahead.close()
    with pytest.raises(InputError, match="is closed"):
        ahead.take(50)
    assert not ahead._thread.is_alive()
