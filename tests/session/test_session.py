"""`Session`: when commands take effect, how time advances, what a reload does."""

import math
from pathlib import Path

import numpy as np
import pytest

from vertigrad.errors import InputError, OutOfMemory, SceneError
from vertigrad.gpu import Gpu
from vertigrad.session import STEP, Session, running
from vertigrad.session.commands import (
    AddWatch,
    Dismiss,
    FlyFaster,
    Guard,
    Home,
    Open,
    Orbit,
    Play,
    Reload,
    Reset,
    SetBrush,
    SetParameter,
    SetRewindMemory,
    SetSpeed,
    Step,
    StopAtLimits,
    Zoom,
)
from vertigrad.session.watches import Watch
from vertigrad.tensor import Tensor

from .running import LINKED, SCENE, Fault, Rising, run_frame, values, written


def phase(session: Session) -> float:
    return float(values(session, "row.phase")[0])


def height(session: Session) -> float:
    """The height of the points, without what the elapsed time has added."""
    return round(float(values(session, "row.position")[0, 1]) - phase(session), 5)


def test_a_command_takes_effect_at_the_start_of_the_next_frame_and_not_before(opened):
    session = opened()
    session.post(SetParameter("models.row", "height", 3.0))
    session.post(Play(False))
    assert session.parameters()["models.row"].height == 0.0
    assert session.playing
    run_frame(session)
    assert session.parameters()["models.row"].height == 3.0
    assert not session.playing
    assert height(session) == 3.0


def test_commands_of_one_frame_are_executed_in_order(opened):
    session = opened()
    for value in (1.0, 5.0, 2.0):
        session.post(SetParameter("models.row", "height", value))
    run_frame(session)
    assert height(session) == 2.0


def test_time_advances_by_a_fixed_step_at_the_time_scale(opened):
    session = opened()
    run_frame(session)
    assert phase(session) == pytest.approx(STEP)
    session.post(SetSpeed(3.0))
    run_frame(session)
    assert phase(session) == pytest.approx(4 * STEP)
    assert session.time == pytest.approx(4 * STEP)


@pytest.mark.parametrize("speed", [math.nan, math.inf])
def test_a_time_scale_that_is_not_a_number_is_rejected(opened, speed):
    session = opened()
    session.post(SetSpeed(speed))
    run_frame(session)
    assert session.speed == 1.0
    assert "speed" in session.messages["time"]


def test_substeps_divide_the_time_of_a_frame(opened):
    session = opened(SCENE.replace('"rising"', '"rising"\nsubsteps = 4'))
    run_frame(session)
    assert phase(session) == pytest.approx(STEP)


def test_a_paused_session_does_not_advance_but_shows_a_changed_parameter(opened):
    session = opened()
    run_frame(session)
    session.post(Play(False))
    run_frame(session)
    before = phase(session)
    session.post(SetParameter("models.row", "height", -2.5))
    run_frame(session)
    assert (phase(session), height(session)) == (before, -2.5)
    assert session.time == pytest.approx(STEP)


def test_a_paused_session_is_idle_until_something_is_posted(opened):
    session = opened()
    assert not session.idle
    session.post(Play(False))
    run_frame(session)
    assert session.idle
    session.post(Orbit(0.1, 0.0))
    assert not session.idle


def test_step_advances_the_requested_number_of_frames(opened):
    session = opened()
    session.post(Step(2))
    for _ in range(5):
        run_frame(session)
    assert phase(session) == pytest.approx(2 * STEP)
    assert not session.playing


def test_pause_cancels_the_remaining_steps(opened):
    session = opened()
    session.post(Step(5))
    run_frame(session)
    session.post(Play(False))
    run_frame(session)
    assert phase(session) == pytest.approx(STEP)


def test_a_step_of_zero_frames_does_nothing(opened):
    session = opened()
    session.post(Step(0))
    run_frame(session)
    assert phase(session) == 0.0


def test_a_step_back_that_fails_changes_nothing(opened):
    session = opened()
    run_frame(session)
    session.post(Step(-3))
    run_frame(session)
    assert "nothing to rewind to" in session.messages["time"]
    assert session.playing and phase(session) == pytest.approx(2 * STEP)


def test_reset_restores_models_and_time_but_not_the_parameters(opened):
    session = opened()
    session.post(SetParameter("models.row", "height", 1.5))
    for _ in range(3):
        run_frame(session)
    session.post(Play(False))
    session.post(Reset())
    run_frame(session)
    assert (phase(session), height(session), session.time) == (0.0, 1.5, 0.0)


def test_the_camera_is_reset(opened):
    session = opened()
    at = session.camera.position
    session.post(Orbit(0.5, 0.2))
    session.post(Zoom(2.0, (0.3, 0.1), 1.5))
    run_frame(session)
    assert not np.allclose(session.camera.position, at)
    session.post(Home())
    run_frame(session)
    assert session.cameras.moving and not session.idle
    for _ in range(5):
        session.cameras.advance(0.1)
    assert np.allclose(session.camera.position, at) and not session.cameras.moving


# parameters ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("owner", "name", "value", "expected_message"),
    [
        ("models.row", "height", 99.0, "height: 99"),
        ("models.row", "height", "high", "height"),
        ("models.row", "height", math.nan, "height"),
        ("models.row", "count", 0, "count: 0"),
        ("models.row", "hieght", 1.0, 'did you mean "height"?'),
        ("models.raw", "height", 1.0, 'did you mean "models.row"?'),
        ("layers.dots", "colormap", "infernal", "colormap"),
        ("view", "exposure", -1.0, "exposure"),
    ],
)
def test_a_broken_parameter_keeps_the_old_value_and_gives_the_reason(opened, owner, name, value, expected_message):
    session = opened()
    before = {key: params.model_copy() for key, params in session.parameters().items()}
    session.post(SetParameter(owner, name, value))
    run_frame(session)
    assert session.parameters() == before
    (message,) = session.messages.values()
    assert expected_message in message
    assert phase(session) == pytest.approx(STEP)


def test_a_message_stays_until_the_same_thing_succeeds(opened):
    session = opened()
    session.post(SetParameter("models.row", "height", 99.0))
    session.post(Orbit(0.1, 0.0))
    session.post(SetParameter("view", "exposure", 2.0))
    run_frame(session)
    assert list(session.messages) == ["models.row.height"]
    session.post(SetParameter("models.row", "height", 9.0))
    run_frame(session)
    assert session.messages == {}


def test_messages_can_be_dismissed(opened):
    session = opened()
    session.post(SetParameter("models.row", "height", 99.0))
    run_frame(session)
    session.post(Dismiss())
    run_frame(session)
    assert session.messages == {}


def test_styles_and_view_are_set_without_changing_the_models(opened):
    session = opened()
    session.post(SetParameter("layers.dots", "emissive", 0.5))
    session.post(SetParameter("view", "background", "#102030"))
    run_frame(session)
    assert session.parameters()["layers.dots"].emissive == 0.5
    assert session.view.background == pytest.approx((16 / 255, 32 / 255, 48 / 255))
    assert Rising.built == 1
    assert session.scene.view.background != session.view.background, "the scene is as its file has it"


# reload -------------------------------------------------------------------------------------------------------------


def test_reload_reads_the_file_again_and_keeps_the_camera(opened, tmp_path):
    session = opened()
    session.camera.orbit(0.3, 0.0)
    at = session.camera.position
    run_frame(session)
    written(tmp_path, SCENE.replace('"rising"', '"rising"\ncount = 5\nheight = 2'))
    session.post(Reload(restart=True))
    session.post(Play(False))
    run_frame(session)
    assert values(session, "row.phase").tolist() == [0.0] * 5
    assert height(session) == 2.0
    assert session.camera.position == at


BROKEN = [
    ("version = 1\n[models.row\n", "scene.toml:2:"),
    (SCENE.replace('"rising"', '"risng"'), "scene.toml:6:8  models.row.type"),
    (SCENE.replace('"rising"', '"rising"\ncount = 7\nforbidden = 7'), "scene.toml:5:9  models.row: row: not with 7"),
    (SCENE.replace('"points"', '"surface"').replace("size = 0.1", ""), "layers.dots"),
]


@pytest.mark.parametrize(("text", "expected_message"), BROKEN)
def test_a_broken_reload_keeps_the_last_good_scene_running(opened, steady: Gpu, tmp_path, text, expected_message):
    session = opened()
    run_frame(session)
    stage, scene, live = session.stage, session.scene, len(steady.tracker.live)
    written(tmp_path, text)
    session.post(Reload(restart=True))
    run_frame(session)
    assert (session.stage, session.scene) == (stage, scene)
    assert expected_message in session.messages["scene"]
    assert phase(session) == pytest.approx(2 * STEP), "its time continues"
    steady.wait_idle()
    assert len(steady.tracker.live) == live
    written(tmp_path, SCENE)
    session.post(Reload(restart=True))
    run_frame(session)
    assert session.messages == {}
    assert session.stage is not stage


def test_a_deleted_scene_keeps_the_last_good_one(opened, tmp_path):
    session = opened()
    (tmp_path / "scene.toml").unlink()
    session.post(Reload(restart=True))
    run_frame(session)
    assert "there is no such file" in session.messages["scene"]
    assert phase(session) == pytest.approx(STEP)


def test_settings_and_seed_of_the_command_line_persist_after_a_reload(opened):
    session = opened(sets=["row.height=4.0"], seed=17)
    session.post(SetParameter("models.row", "height", 1.0))
    run_frame(session)
    session.post(Reload(restart=True))
    run_frame(session)
    assert height(session) == 4.0
    assert session.stage.instances["row"].model.seed == 17


def test_another_scene_has_its_own_camera_and_none_of_the_settings(opened, tmp_path):
    session = opened(sets=["row.height=4.0"])
    text = LINKED.replace("version = 1", "version = 1\n[camera]\nposition = [0, 0, 30]\n", 1)
    session.post(Reload(written(tmp_path, text, "other.toml")))
    run_frame(session)
    assert session.messages == {}
    assert session.scene.path.name == "other.toml"
    assert session.camera.position == pytest.approx((0.0, 0.0, 30.0))
    assert height(session) == 0.0
    session.post(Reload(restart=True))
    run_frame(session)
    assert session.scene.path.name == "other.toml"


def test_opening_a_broken_scene_keeps_the_path(opened, tmp_path):
    session = opened(sets=["row.height=4.0"])
    session.post(Reload(written(tmp_path, "nonsense", "other.toml")))
    run_frame(session)
    assert "other.toml:1:" in session.messages["scene"]
    session.post(Reload(restart=True))
    run_frame(session)
    assert (session.messages, session.scene.path.name, height(session)) == ({}, "scene.toml", 4.0)


def test_a_parameter_posted_for_a_removed_model_is_reported(opened, tmp_path):
    session = opened()
    session.post(Reload(written(tmp_path, SCENE.replace("row", "line"), "other.toml")))
    session.post(SetParameter("models.row", "height", 1.0))
    run_frame(session)
    assert "models.row" in next(iter(session.messages.values()))


@pytest.mark.turns(3)
@pytest.mark.parametrize("part", ["Stage", "Cameras", "SceneEdits", "Clock", "Watches", "InteractionTool"])
@pytest.mark.parametrize("other", [False, True], ids=["restart", "other"])
def test_any_error_while_a_scene_is_built_leaves_the_old_one_running(
    opened, steady: Gpu, tmp_path, monkeypatch, part, other
):
    session = opened()
    for command in (
        SetRewindMemory(1 << 20),
        SetParameter("models.row", "height", 2.0),
        AddWatch(Watch("row.position")),
    ):
        session.post(command)
    run_frame(session)
    steady.wait_idle()
    before, live = dict(vars(session.running)), len(steady.tracker.live)

    def fail(*arguments):
        raise OutOfMemory(f"no room for {part}")

    monkeypatch.setattr(running, part, fail)
    session.post(Reload(written(tmp_path, LINKED, "other.toml") if other else None, restart=True))
    run_frame(session)
    if part == "Cameras" and not other:  # these persist
        assert not session.messages.get("scene")
        return
    assert session.messages["scene"] == f"no room for {part}"
    after = dict(vars(session.running))
    assert after.pop("changes") == before.pop("changes") + 1 and after == before
    assert phase(session) == pytest.approx(2 * STEP), "its time continues"
    steady.wait_idle()
    assert len(steady.tracker.live) == live + 2, "one more snapshot, of two tensors"
    session.post(Step(-1))
    run_frame(session)
    assert session.frame == 1 and height(session) == 2.0


def test_opening_another_scene_removes_the_watches_and_a_reload_keeps_them(opened, tmp_path):
    session = opened()
    watch = Watch("row.position")
    session.post(AddWatch(watch))
    session.post(Guard(False))
    run_frame(session)
    session.post(Reload(restart=True))
    run_frame(session)
    assert list(session.watches) == [watch] and not session.watches.guarding
    session.post(Reload(written(tmp_path, SCENE, "other.toml")))
    run_frame(session)
    assert len(session.watches) == 0 and not session.watches.guarding, "whether the guard looks is the user's"


def test_settings_of_the_user_persist_in_another_scene(opened, tmp_path):
    session = opened()
    for command in (
        SetSpeed(2.0),
        SetRewindMemory(1 << 20),
        StopAtLimits(True),
        FlyFaster(3.0),
        SetBrush("radius", 0.2),
    ):
        session.post(command)
    session.post(Reload(written(tmp_path, SCENE, "other.toml")))
    run_frame(session)
    assert session.speed == 2.0 and session.clock.rewind.snapshots.limit == 1 << 20
    assert session.limits.stopping and session.cameras.fly_speed == 3.0 and session.tool.brush.radius == 0.2


@pytest.mark.parametrize("speed", [-3.0, float("nan"), float("inf")])
def test_time_scales_of_zero_and_more_are_accepted(opened, speed):
    session = opened()
    session.post(SetSpeed(speed))
    run_frame(session)
    assert "speed: expected a finite number from 0 on" in session.messages["time"] and session.speed == 1.0
    session.post(SetSpeed(0.0))
    run_frame(session)
    assert session.speed == 0.0 and not session.messages


def test_settings_of_the_command_line_persist_for_every_spelling_of_the_path(opened, tmp_path, monkeypatch):
    session = opened(sets=["row.height=4.0"])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inner").mkdir()
    (tmp_path / "link.toml").symlink_to(tmp_path / "scene.toml")
    for path in ("scene.toml", "inner/../scene.toml", "link.toml"):
        session.post(Open(Path(path)))
        run_frame(session)
        assert height(session) == 4.0 and not session.messages, path


# opening and closing ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "expected_message"), BROKEN)
def test_a_scene_that_cannot_be_opened_leaks_nothing(added, opened, tmp_path, text, expected_message):
    with pytest.raises(SceneError) as raised:
        opened(text)
    assert expected_message in str(raised.value)
    assert added() == []


def test_a_session_requires_a_scene(steady: Gpu, tmp_path):
    with pytest.raises(InputError, match="no such file"):
        Session(steady, tmp_path / "none.toml")


def test_closing_twice_is_allowed_and_releases_all_memory(opened, steady: Gpu, added):
    session = opened(LINKED)
    run_frame(session)
    session.measure()
    assert steady.tracker.live
    session.close()
    session.close()
    assert session.allocations.left_behind() == []
    assert added() == []


def test_leaks_are_reported_without_blocks_that_existed_before(opened, steady: Gpu):
    with Tensor.zeros(4, name="before"):
        session = opened()
        forgotten = Tensor.zeros(4, name="forgotten")
        session.close()
        assert [block.name for block in session.allocations.left_behind()] == ["forgotten"]
        forgotten.close()


# diagnostics --------------------------------------------------------------------------------------------------------


def test_diagnostics_arrive_some_frames_later_without_waiting(opened):
    session = opened()
    session.post(SetParameter("models.row", "height", 2.0))
    for frame in range(10):
        with session.gpu.frames.frame():
            session.apply()
            session.advance()
            session.measure()
        if frame == 0:
            assert session.diagnostics == {}, "they cannot be there already"
        session.gpu.wait_idle()
    assert session.diagnostics["row.bottom"] == pytest.approx(2.0)
    assert 2.0 < session.diagnostics["row.top"] <= 2.0 + 10 * STEP


def test_diagnostics_of_a_dropped_frame_are_requested_again(opened):
    session = opened()
    run_frame(session)
    with pytest.raises(Fault), session.gpu.frames.frame():
        session.measure()
        raise Fault
    for _ in range(4):
        with session.gpu.frames.frame():
            session.apply()
            session.measure()
        session.gpu.wait_idle()
    session.apply()
    assert session.diagnostics["row.top"] == pytest.approx(STEP)


def test_the_path_of_a_scene_may_be_relative(steady: Gpu, opened, tmp_path, monkeypatch):
    written(tmp_path, SCENE)
    monkeypatch.chdir(tmp_path)
    with Session(steady, Path("scene.toml")) as session:
        run_frame(session)
        assert session.scene.path == tmp_path / "scene.toml"
