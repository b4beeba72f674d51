"""Camera keyframes: set, moved, deleted, undone, saved, and followed."""

from __future__ import annotations

from pathlib import Path

import pytest

from vertigrad.errors import ParameterError, SceneError
from vertigrad.renderer.camera_path import CameraPath
from vertigrad.scene import load
from vertigrad.session import Session
from vertigrad.session.commands import (
    DeleteKeyframe,
    FollowKeyframes,
    MoveKeyframe,
    Orbit,
    Redo,
    Reload,
    Save,
    SetKeyframe,
    Undo,
)

from .running import SCENE, written

KEYFRAMES = (
    SCENE
    + "[camera.keyframes.0]\nposition = [0, 0, 9]\ntarget = [0, 0, 0]\n"
    + "[camera.keyframes.10]\nposition = [9, 0, 0]\ntarget = [0, 0, 0]\nfov = 20\n"
)


def keyframes(session: Session) -> list[int]:
    return list(session.scene_edits.extras.keyframes)


def frame(session: Session) -> None:
    with session.gpu.frames.frame():
        session.apply()
        session.advance()


def test_the_camera_follows_them_as_time_passes(opened) -> None:
    session = opened(KEYFRAMES)
    path = CameraPath(session.scene_edits.extras.keyframes)
    for _ in range(12):
        frame(session)
        assert session.camera == path.at(session.frame)
    assert session.camera.position == pytest.approx((9, 0, 0)) and session.camera.fov == 20.0
    session.playing = False
    session.post(Orbit(0.5, 0.0))
    frame(session)
    moved = session.camera.position
    frame(session)
    assert session.camera.position == moved != pytest.approx((9, 0, 0)), "while time rests, the user moves it"


def test_it_need_not_follow_them(opened) -> None:
    session = opened(KEYFRAMES)
    session.carry_out(FollowKeyframes(False))
    before = session.camera.position
    frame(session)
    assert session.camera.position == before
    session.carry_out(FollowKeyframes(True))
    frame(session)
    assert session.camera == CameraPath(session.scene_edits.extras.keyframes).at(session.frame)


def test_they_are_edited_undone_and_saved(opened, tmp_path: Path) -> None:
    session = opened(SCENE)
    session.playing = False
    session.carry_out(SetKeyframe())
    session.carry_out(Orbit(0.5, 0.1))
    view = session.camera.position
    session.carry_out(SetKeyframe(50))
    session.carry_out(SetKeyframe(20))
    assert keyframes(session) == [0, 20, 50] and session.unsaved
    session.carry_out(MoveKeyframe(20, 80))
    session.carry_out(DeleteKeyframe(0))
    assert keyframes(session) == [50, 80]
    session.carry_out(Undo())
    session.carry_out(Undo())
    assert keyframes(session) == [0, 20, 50]
    session.carry_out(Redo())
    assert keyframes(session) == [0, 50, 80]
    session.carry_out(Save())
    assert not session.unsaved and not session.messages
    saved = load(tmp_path / "scene.toml").keyframes
    assert list(saved) == [0, 50, 80] and saved[50].position == pytest.approx(view, abs=1e-4)
    session.carry_out(DeleteKeyframe(50))
    session.carry_out(MoveKeyframe(80, 90))
    session.carry_out(Save())
    assert list(load(tmp_path / "scene.toml").keyframes) == [0, 90]
    assert "keyframes.50" not in (tmp_path / "scene.toml").read_text()


def test_a_reload_merges_them(opened, tmp_path: Path) -> None:
    session = opened(KEYFRAMES)
    session.carry_out(SetKeyframe(5))
    session.carry_out(DeleteKeyframe(10))
    written(tmp_path, KEYFRAMES + "[camera.keyframes.30]\nposition = [0, 9, 0]\ntarget = [0, 0, 0]\n")
    session.carry_out(Reload())
    assert keyframes(session) == [0, 5, 30]


def test_keyframes_that_are_not_there(opened) -> None:
    session = opened(KEYFRAMES)
    for command in (DeleteKeyframe(3), MoveKeyframe(3, 4)):
        with pytest.raises(ParameterError, match="there is no camera keyframe at frame 3"):
            session.carry_out(command)
    for command in (SetKeyframe(-1), MoveKeyframe(0, -1)):
        with pytest.raises(ParameterError, match="at a frame from 0 to 1,000,000,000, not at -1"):
            session.carry_out(command)
    assert keyframes(session) == [0, 10]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("[camera.keyframes.start]", "a keyframe is named by its frame, from 0 to 1,000,000,000, such as 120"),
        ("[camera.keyframes.007]", "a keyframe is named by its frame"),
        ("[camera.keyframes.-1]", "a keyframe is named by its frame"),
        ("[camera.keyframes.9999999999]", "a keyframe is named by its frame"),
        ("[camera.keyframes.1]\nzoom = 3", 'unknown key "zoom"|zoom'),
        ("[camera]\nkeyframes = 3", "expected a table"),
    ],
)
def test_wrong_keyframes_in_a_scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str, message: str) -> None:
    from .running import use_models

    use_models(monkeypatch)
    rest = "" if table.startswith("[camera]") else "\nposition = [0, 0, 9]\ntarget = [0, 0, 0]\n"
    with pytest.raises(SceneError, match=message):
        load(written(tmp_path, f"{SCENE}\n{table}{rest}"))
