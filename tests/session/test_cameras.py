"""The camera of a session: navigation, transitions and previous views."""

import math
import tomllib

import numpy as np
import pytest

from vertigrad.gpu import Gpu
from vertigrad.models.base import ModelCamera
from vertigrad.renderer import OrbitCamera
from vertigrad.session import Session
from vertigrad.session.commands import (
    AddBookmark,
    DeleteBookmark,
    Face,
    Fly,
    FlyFaster,
    FocusSelection,
    FrameAll,
    FrameSelection,
    GoToBookmark,
    Home,
    LookThroughCamera,
    Orbit,
    Parallel,
    PreviousView,
    Reload,
    RememberView,
    Save,
    Select,
    SetLens,
    Turn,
    Turntable,
    Undo,
    ViewFrom,
)

from .running import SCENE, run_frame, use_models, written

BOOKMARKED = SCENE.replace(
    "[models.row]",
    """
[camera]
position = [0, 2, 8]   # where it begins
target = [0, 0, 0]

[camera.bookmarks.side]
position = [9, 0, 0]
target = [0, 1, 0]

[models.row]""",
)


@pytest.fixture
def session(steady: Gpu, tmp_path, monkeypatch):
    use_models(monkeypatch)
    with Session(steady, written(tmp_path, BOOKMARKED)) as session:
        session.playing = False
        yield session


def do(session, *commands):
    """Execute the commands, without advancing the camera's time."""
    for command in commands:
        session.post(command)
    run_frame(session)


def arrive(session, seconds=1.0):
    for _ in range(round(60 * seconds)):
        session.cameras.advance(1 / 60)


def went(session, *commands):
    do(session, *commands)
    arrive(session)
    return session.camera


def wait_for(session, condition):
    for _ in range(200):
        if condition():
            return
        run_frame(session)
        session.gpu.sync()
    raise AssertionError("it never came")


# transitions --------------------------------------------------------------------------------------------------------


def test_a_transition_is_short_and_eases_in_and_out(session):
    camera, start = session.camera, session.camera.position
    do(session, GoToBookmark("side"))
    assert camera.position == start and session.cameras.moving
    speeds, before = [], np.array(start)
    for _ in range(30):
        session.cameras.advance(1 / 60)
        speeds.append(np.linalg.norm(camera.position - before))
        before = np.array(camera.position)
    assert session.camera is camera and camera == session.scene_edits.extras.bookmarks["side"], (
        "exactly there, in the end"
    )
    assert not session.cameras.moving and max(speeds[19:]) == 0
    assert speeds[0] < 0.2 * max(speeds) and speeds[17] < 0.2 * max(speeds)


def test_transitions_are_deterministic(session):
    def path():
        do(session, Home())
        arrive(session)
        do(session, GoToBookmark("side"))
        return [(session.cameras.advance(1 / 60), session.camera.position)[1] for _ in range(20)]

    assert path() == path()


def test_moving_the_camera_ends_the_transition(session):
    do(session, GoToBookmark("side"))
    session.cameras.advance(0.1)
    do(session, Orbit(0.1, 0.0))
    assert not session.cameras.moving
    there = session.camera.position
    arrive(session)
    assert session.camera.position == there


def test_a_rotation_takes_the_shorter_direction(session):
    session.camera.yaw = math.radians(170)
    goal = OrbitCamera(**vars(session.camera))
    goal.yaw = math.radians(-170)
    session.cameras.go(goal)
    session.cameras.advance(0.1)
    session.cameras.advance(0.05)
    assert abs(session.camera.yaw) == pytest.approx(math.pi, abs=1e-6)


def test_a_slow_frame_does_not_skip_the_transition(session):
    do(session, GoToBookmark("side"))
    session.cameras.advance(30.0)
    assert session.cameras.moving


def test_switching_to_orthographic_keeps_the_size_of_the_target(session):
    half = session.camera.half_height
    do(session, Parallel(True))
    lenses = []
    while session.cameras.moving:
        session.cameras.advance(1 / 60)
        lenses.append(session.camera.fov)
        assert session.camera.half_height == pytest.approx(half)
    assert session.camera.orthographic and session.camera.fov == 45 and min(lenses) < 4
    camera = went(session, Parallel(False))
    assert not camera.orthographic and camera.distance == pytest.approx(np.hypot(2, 8))


# views --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("side", "direction"),
    [("front", (0, 0, 1)), ("back", (0, 0, -1)), ("right", (1, 0, 0)), ("left", (-1, 0, 0)), ("top", (0, 1, 0))],
)
@pytest.mark.parametrize("up", ["y", "z"])
def test_axis_aligned_views(session, side, direction, up):
    session.camera.up = up
    x, y, z = direction
    expected = np.array(direction) if up == "y" else np.array((x, -z, y))
    camera = went(session, ViewFrom(side))
    np.testing.assert_allclose((np.array(camera.position) - camera.target) / camera.distance, expected, atol=2e-4)
    went(session, Face(tuple(-expected.astype(float))))
    np.testing.assert_allclose((np.array(camera.position) - camera.target) / camera.distance, -expected, atol=2e-4)


def test_an_unknown_side(session):
    do(session, ViewFrom("aft"))
    assert session.messages["camera"].startswith('unknown side "aft"')


def test_previous_views(session):
    home = OrbitCamera(**vars(session.camera))
    do(session, PreviousView())
    assert "no view to go back to" in session.messages["camera"] and not session.cameras.can_go_back
    went(session, ViewFrom("top"))
    top = OrbitCamera(**vars(session.camera))
    do(session, RememberView(), Orbit(0.2, -0.3), Orbit(0.1, 0.0))
    went(session, GoToBookmark("side"))
    do(session, RememberView(), RememberView())
    assert went(session, PreviousView()).yaw == pytest.approx(top.yaw + 0.3)
    assert went(session, PreviousView()) == top
    assert went(session, PreviousView()) == home
    do(session, PreviousView())
    assert "no view" in session.messages["camera"]


def test_a_transition_to_the_current_view_adds_no_previous_view(session):
    for _ in range(3):
        went(session, Home())
    assert not session.cameras.can_go_back
    do(session, GoToBookmark("side"), GoToBookmark("side"))
    arrive(session)
    assert went(session, PreviousView()).position == pytest.approx((0, 2, 8))
    assert not session.cameras.can_go_back


def test_changing_the_field_of_view_keeps_the_size_of_the_target(session):
    half = session.camera.half_height
    do(session, SetLens(20.0))
    assert session.camera.fov == 20 and session.camera.half_height == pytest.approx(half)
    do(session, SetLens(200.0))
    assert "field of view" in session.messages["camera"] and session.camera.fov == 20


# auto-rotate and fly------------------------------------------------------------------------------------------------


def test_turntable(session):
    camera, yaw, distance = session.camera, session.camera.yaw, session.camera.distance
    do(session, Turntable(90.0))
    arrive(session, 1.0)
    assert camera.yaw == pytest.approx(yaw + math.pi / 2) and camera.distance == distance
    assert not session.idle
    do(session, Turntable(0.0))
    assert session.idle
    arrive(session)
    assert camera.yaw == pytest.approx(yaw + math.pi / 2)


def test_flying(session):
    camera = session.camera
    position, target = np.array(camera.position), np.array(camera.target)
    do(session, Fly((0.0, 0.0, 1.0)))
    assert not session.idle
    arrive(session, 1.0)
    forward = (target - position) / camera.distance
    np.testing.assert_allclose(camera.position - position, 0.6 * camera.distance * forward, rtol=1e-6, atol=1e-9)
    do(session, FlyFaster(4.0), Fly((1.0, 1.0, 0.0)))
    before = np.array(camera.position)
    arrive(session, 0.5)
    moved = camera.position - before
    speed = 4.0 * 0.6 * camera.distance * 0.5
    assert moved @ camera.rotation()[:, 0] == pytest.approx(speed) and moved[1] == pytest.approx(speed)
    do(session, Fly((0.0, 0.0, 0.0)))
    assert session.idle


def test_looking_around_keeps_the_eye_position(session):
    eye = session.camera.position
    do(session, Turn(0.3, 0.1))
    assert session.camera.position == pytest.approx(eye) and session.camera.yaw == pytest.approx(-0.3)


# framing ------------------------------------------------------------------------------------------------------------


def test_framing_shows_all_layers(session):
    """Eight points from 0 to 7/8 along x, risen by 0: found on the GPU, without waiting for it."""
    session.viewport_size = (200, 100)
    do(session, FrameAll())
    assert session.cameras.moving
    wait_for(session, lambda: session.cameras._transition is not None)
    arrive(session)
    camera = session.camera
    assert camera.target == pytest.approx((0.4375, 0, 0), abs=1e-6)
    assert camera.distance == pytest.approx(0.4375 / math.sin(math.radians(22.5)), rel=1e-5)
    session.viewport_size = (50, 100)
    do(session, FrameAll())
    wait_for(session, lambda: session.cameras._transition is not None)
    arrive(session)
    assert camera.distance == pytest.approx(0.4375 / math.sin(math.atan(math.tan(math.radians(22.5)) / 2)), rel=1e-5)


def test_framing_centers_the_selected_row(session):
    do(session, FrameSelection())
    assert "nothing is selected" in session.messages["camera"]
    do(session, Select("dots", 6))
    wait_for(session, lambda: session.selection.position() is not None)
    do(session, FrameSelection())
    wait_for(session, lambda: session.cameras._transition is not None)
    arrive(session)
    assert session.camera.target == pytest.approx((0.75, 0, 0))
    assert session.camera.distance == pytest.approx(0.15 * 0.4375 / math.sin(math.radians(22.5)), rel=1e-5)
    assert "camera" not in session.messages


def test_the_lens_is_focused_on_the_selected_row(session):
    do(session, FocusSelection())
    assert "nothing is selected" in session.messages["view.focus"]
    do(session, Select("dots", 6))
    wait_for(session, lambda: session.selection.position() is not None)
    do(session, FocusSelection())
    assert session.view.focus == pytest.approx((0.75, 0, 0))
    assert "view.focus" not in session.messages
    do(session, Undo())
    assert session.view.focus == "target"


def test_a_selected_camera_is_looked_through(session, monkeypatch):
    """A row that stands for a camera, as a model says of it."""
    do(session, Select("dots", 2))
    do(session, LookThroughCamera())
    assert session.selection.camera is None and "no camera is selected" in session.messages["camera"]
    model = session.stage.instances["row"].model
    asked = []

    def camera_of(self, output, row):
        asked.append((output, row))
        return ModelCamera((1.0, 2.0, 3.0), (1.0, 2.0, 1.0), 50.0)

    monkeypatch.setattr(type(model), "model_camera", camera_of)
    do(session, LookThroughCamera())
    arrive(session)
    assert asked[-1] == ("position", 2)
    assert session.camera.position == pytest.approx((1.0, 2.0, 3.0)) and session.camera.fov == 50.0
    assert session.camera.target == pytest.approx((1.0, 2.0, 1.0))


def test_moving_the_camera_cancels_framing(session):
    do(session, FrameAll())
    do(session, Orbit(0.1, 0.0))
    there = session.camera.position
    for _ in range(5):
        run_frame(session)
        session.gpu.sync()
    arrive(session)
    assert session.camera.position == there


def test_a_dropped_frame_cancels_framing(session):
    session.post(FrameAll())
    session.cameras.frame(session.stage.layers.values(), 1.0)
    session.commands.clear()
    session.gpu.abandon()
    for _ in range(3):
        run_frame(session)
    assert not session.cameras.moving and not session.messages


# bookmarks ----------------------------------------------------------------------------------------------------------


def test_bookmarks_are_added_and_removed(session):
    assert list(session.scene_edits.extras.bookmarks) == ["side"] and not session.unsaved
    do(session, ViewFrom("top"))
    do(session, AddBookmark("from above"))  # during the transition
    arrive(session)
    above = OrbitCamera(**vars(session.camera))
    assert session.scene_edits.extras.bookmarks["from above"] == above and session.unsaved
    went(session, Home())
    assert went(session, GoToBookmark("from above")) == above
    do(session, DeleteBookmark("from above"))
    assert list(session.scene_edits.extras.bookmarks) == ["side"] and not session.unsaved
    do(session, GoToBookmark("from abov"))
    assert session.messages["bookmark"].startswith("unknown bookmark")
    do(session, DeleteBookmark("nothing"))
    assert session.messages["bookmark"].startswith("unknown bookmark")
    do(session, AddBookmark(" "))
    assert "needs a name" in session.messages["bookmark"]


def test_bookmarks_are_saved_into_the_scene(session):
    before = session.scene.path.read_text()
    session.camera.fov = 30.0
    do(session, AddBookmark("from here"), DeleteBookmark("side"), Save())
    assert not session.messages and not session.unsaved
    after = session.scene.path.read_text()
    assert "# where it begins" in after and "bookmarks.side" not in after
    written = tomllib.loads(after)["camera"]["bookmarks"]
    assert written == {"from here": {"position": [0, 2, 8], "target": [0, 0, 0], "fov": 30, "orthographic": False}}
    rest = {line for line in before.splitlines() if "side" not in line and "[9, 0" not in line and "[0, 1," not in line}
    assert rest <= set(after.splitlines())
    with Session(session.gpu, session.scene.path) as again:
        assert list(again.scene_edits.extras.bookmarks) == ["from here"]
        assert again.scene_edits.extras.bookmarks["from here"].fov == 30


def test_a_bookmark_is_replaced_in_the_file(session):
    do(session, AddBookmark("side"), Save())
    assert tomllib.loads(session.scene.path.read_text())["camera"]["bookmarks"]["side"]["position"] == [0, 2, 8]
    assert not session.unsaved


def test_another_scene_has_its_own_camera_and_bookmarks(session, tmp_path):
    camera = session.camera
    do(session, Turntable(10.0), ViewFrom("top"), GoToBookmark("side"))
    session.cameras.advance(0.1)
    do(session, Reload())
    assert session.cameras.moving and session.cameras.can_go_back, "the same file: it continues"
    do(session, Reload(written(tmp_path, SCENE, "other.toml")))
    assert session.camera is not camera and session.camera.position == pytest.approx((0, 2, 8))
    assert not session.cameras.moving and not session.cameras.can_go_back and not session.scene_edits.extras.bookmarks
