"""Merging edits of the scene file with unsaved edits of the session: neither side loses one."""

from __future__ import annotations

import pytest

from vertigrad.renderer.camera import OrbitCamera
from vertigrad.scene import Animation, load
from vertigrad.session import Session
from vertigrad.session.commands import (
    AddBookmark,
    Animate,
    DeleteBookmark,
    DeletePreset,
    Redo,
    Reload,
    RenamePreset,
    ResetParameters,
    Save,
    SavePreset,
    SetParameter,
    SetSeed,
    SetSubsteps,
    Undo,
    ViewFrom,
)
from vertigrad.session.merging import MISSING, merged, merged_value
from vertigrad.session.parameters import Key
from vertigrad.session.scene_extras import Preset, SceneExtras, merge_extras

from .running import SCENE, run_frame, values, written

HEIGHT, GLOW = Key("models.row", "height"), Key("layers.dots", "emissive")
SEED, SUBSTEPS = Key("models.row", "seed"), Key("models.row", "substeps")
BOOKMARK = "\n[camera.bookmarks.theirs]\nposition = [1, 2, 9]\ntarget = [0, 0, 0]\n"
PRESET = '\n[presets.theirs]\n"row.height" = 4\n'
ANIMATION = '\n[animations."view.exposure"]\nrange = [0.5, 1]\n'
RESTART, HOT = Reload(restart=True), Reload()


def do(session: Session, *commands) -> None:
    for command in commands:
        session.post(command)
    run_frame(session)


def names(session: Session) -> list[str]:
    return [preset.name for preset in session.scene_edits.extras.presets]


# values -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "theirs", "ours", "found"),
    [
        (1, 1, 1, (1, False)),
        (1, 2, 1, (2, False)),
        (1, 1, 3, (3, False)),
        (1, 2, 2, (2, False)),
        (1, 2, 3, (3, True)),
        (MISSING, 2, MISSING, (2, False)),
        (1, MISSING, 1, (MISSING, False)),
        (1, MISSING, 3, (3, True)),
        (1, 2, MISSING, (MISSING, True)),
        (MISSING, 2, 3, (3, True)),
    ],
)
def test_a_value_is_taken_from_the_side_that_changed_it_and_ours_if_both_did(base, theirs, ours, found):
    assert merged_value(base, theirs, ours) == found


def test_entries_stay_in_our_order_and_theirs_follow():
    assert merged({"a": 1, "b": 2}, {"c": 3, "a": 1}, {"b": 5, "d": 4, "a": 1}) == (
        {"b": 5, "d": 4, "a": 1, "c": 3},
        ["b"],
    )


def test_a_preset_is_merged_value_by_value():
    base = SceneExtras((Preset("a", {HEIGHT: 1.0, GLOW: 0.1}, 1),))
    theirs = SceneExtras((Preset("a", {HEIGHT: 2.0, GLOW: 0.1}, 1), Preset("b", {GLOW: 0.2}, 5)))
    ours = SceneExtras((Preset("ours", {HEIGHT: 1.0, GLOW: 0.3}, 1), Preset("b", {GLOW: 0.4}, 2)))
    found, conflicts = merge_extras(base, theirs, ours)
    assert found.presets == (Preset("ours", {HEIGHT: 2.0, GLOW: 0.3}, 1), Preset("b", {GLOW: 0.4}, 2))
    assert list(map(str, conflicts)) == ["emissive in the preset b: 0.4 here, 0.2 in the file"]


def test_a_preset_of_theirs_with_a_name_of_ours_is_renamed():
    base = SceneExtras((Preset("a", {HEIGHT: 1.0}, 1),))
    theirs = SceneExtras((Preset("a", {HEIGHT: 1.0}, 1), Preset("b", {HEIGHT: 9.0}, 5)))
    ours = SceneExtras((Preset("b", {HEIGHT: 1.0}, 1),))
    found, _ = merge_extras(base, theirs, ours)
    assert [(preset.name, preset.values[HEIGHT]) for preset in found.presets] == [("b", 1.0), ("b 2", 9.0)]


def test_a_preset_that_one_side_deleted_and_the_other_changed_is_reported():
    base = SceneExtras((Preset("a", {HEIGHT: 1.0}, 1),))
    changed = SceneExtras((Preset("a", {HEIGHT: 2.0}, 1),))
    found, conflicts = merge_extras(base, changed, SceneExtras())
    assert not found.presets and list(map(str, conflicts)) == ['preset a: "deleted" here, "changed" in the file']
    found, conflicts = merge_extras(base, SceneExtras(), changed)
    assert found == changed and len(conflicts) == 1


def test_bookmarks_that_are_equal_in_a_file_are_merged():
    here = OrbitCamera(distance=3.0)
    near = OrbitCamera(distance=3.0 + 1e-9)
    far = OrbitCamera(distance=4.0)
    found, conflicts = merge_extras(
        SceneExtras(bookmarks={"a": here}), SceneExtras(bookmarks={"a": far}), SceneExtras(bookmarks={"a": near})
    )
    assert found.bookmarks == {"a": far} and not conflicts


# reloads ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reload", [HOT, RESTART], ids=["hot", "restart"])
def test_a_reload_keeps_unsaved_bookmarks_presets_and_animations_and_adds_those_of_the_file(opened, tmp_path, reload):
    session = opened()
    moves = Animation(range=(0.0, 1.0))
    do(session, ViewFrom("top"), AddBookmark("ours"), SetParameter(*HEIGHT, 2.0), SavePreset("ours"))
    do(session, ResetParameters(), Animate(*GLOW, moves))
    written(tmp_path, SCENE + BOOKMARK + PRESET + ANIMATION)
    do(session, reload)
    extras = session.scene_edits.extras
    assert set(extras.bookmarks) == {"ours", "theirs"} and names(session) == ["ours", "theirs"]
    assert extras.animations.keys() == {GLOW, Key("view", "exposure")}
    assert session.unsaved and not session.messages
    do(session, Save())
    again = load(tmp_path / "scene.toml")
    assert set(again.bookmarks) == {"ours", "theirs"} and set(again.presets) == {"ours", "theirs"}
    assert len(again.animations) == 2 and not session.unsaved


def test_an_automatic_reload_keeps_bookmarks(opened, tmp_path):
    session = opened()
    do(session, AddBookmark("ours"))
    written(tmp_path, SCENE.replace("size = 0.1", "size = 0.2"))
    do(session, Save())
    assert session.questions.first and session.questions.first.about == "changed"
    do(session, Reload())
    assert list(session.scene_edits.extras.bookmarks) == ["ours"] and session.unsaved
    do(session, Save())
    assert not session.unsaved and session.questions.first is None
    assert list(load(tmp_path / "scene.toml").bookmarks) == ["ours"]
    assert "size = 0.2" in (tmp_path / "scene.toml").read_text()


def test_a_bookmark_that_both_changed_is_ours_and_reported(opened, tmp_path):
    session = opened(SCENE + BOOKMARK)
    do(session, AddBookmark("theirs"))
    ours = session.scene_edits.extras.bookmarks["theirs"]
    written(tmp_path, SCENE + BOOKMARK.replace("9]", "7]"))
    do(session, Reload())
    assert session.scene_edits.extras.bookmarks["theirs"] == ours
    assert "bookmark theirs: " in session.messages["edits"]
    do(session, Undo())
    assert session.scene_edits.extras.bookmarks["theirs"].position == pytest.approx((1, 2, 9)), (
        "as it was before our edit"
    )


def test_edits_reverted_by_a_restart_are_reported_and_undone_in_one_step(opened):
    session = opened()
    do(session, SetParameter(*HEIGHT, 2.0), SetSeed(9), SetSubsteps("row", 3))
    do(session, RESTART)
    instance = session.stage.instances["row"]
    assert (session.scene_edits.value(HEIGHT), instance.model.seed, instance.substeps) == (0.0, 0, 1)
    assert "3 parameters: reset to the file; Undo restores" in session.messages["edits"]
    assert not session.unsaved
    do(session, Undo())
    instance = session.stage.instances["row"]
    assert (session.scene_edits.value(HEIGHT), instance.model.seed, instance.substeps) == (2.0, 9, 3)
    assert session.unsaved


def test_a_restart_without_edits_reports_nothing(opened):
    session = opened()
    do(session, RESTART)
    assert not session.messages and not session.scene_edits.history.done


def test_an_edit_of_a_removed_model_is_reported(opened, tmp_path):
    session = opened(SCENE + '\n[models.other]\ntype = "rising"\n')
    do(session, SetParameter("models.other", "height", 2.0))
    written(tmp_path, SCENE)
    do(session, Reload())
    assert "models.other.height: was 2.0 here, and is gone from the file" in session.messages["edits"]
    assert not session.unsaved and session.scene_edits.history.done == []


def test_a_parameter_no_longer_animated_in_the_file_has_the_value_of_the_file(opened, tmp_path):
    session = opened(SCENE + ANIMATION)
    for _ in range(5):
        run_frame(session)
    assert session.view.exposure != session.scene.view.exposure
    written(tmp_path, SCENE)
    do(session, Reload())
    assert session.view.exposure == session.scene.view.exposure and not session.unsaved


# one history --------------------------------------------------------------------------------------------------------


def test_seeds_substeps_and_bookmarks_are_undone_and_redone(opened):
    session = opened()
    run_frame(session)
    do(session, AddBookmark("here"), SetSubsteps("row", 3), SetSeed(9))
    do(session, DeleteBookmark("here"))
    labels = [step.label for step in session.scene_edits.history.done]
    assert labels == ["bookmark here", "substeps of row", "seed", "delete bookmark here"]
    do(session, Undo())
    assert list(session.scene_edits.extras.bookmarks) == ["here"]
    do(session, Undo())
    instance = session.stage.instances["row"]
    assert (instance.model.seed, instance.substeps, session.frame) == (0, 3, 1), "another seed: from the start"
    do(session, Undo())
    assert session.stage.instances["row"].substeps == 1
    do(session, Undo())
    assert not session.scene_edits.extras.bookmarks and not session.unsaved
    do(session, *[Redo()] * 4)
    instance = session.stage.instances["row"]
    assert (instance.model.seed, instance.substeps, dict(session.scene_edits.extras.bookmarks)) == (9, 3, {})


def test_setting_the_same_seed_resets_and_is_no_step(opened):
    session = opened()
    run_frame(session)
    do(session, SetSeed(0))
    assert session.frame == 1 and session.scene_edits.history.done == []


@pytest.mark.parametrize("command", [SetSeed(-1), SetSubsteps("row", 0), SetSeed(1, "nothing")])
def test_an_invalid_setting_changes_nothing(opened, command):
    session = opened()
    do(session, command)
    assert session.messages[command.topic] and session.scene_edits.history.done == []
    assert session.scene_edits.settings() == {SEED: 0, SUBSTEPS: 1}


def test_a_step_of_a_preset_is_undone_after_the_file_brought_another(opened, tmp_path):
    session = opened()
    do(session, SetParameter(*HEIGHT, 2.0), SavePreset("ours"))
    written(tmp_path, SCENE + PRESET)
    do(session, Reload(), Undo())
    assert names(session) == ["theirs"], "the other editor's stays"
    do(session, Redo())
    assert set(names(session)) == {"ours", "theirs"}
    do(session, Undo(), Undo())
    assert session.scene_edits.value(HEIGHT) == 0.0


# names of presets in the file ---------------------------------------------------------------------------------------


def test_a_preset_renamed_saved_undone_and_redone_is_saved_again(opened, tmp_path):
    session = opened(SCENE + PRESET.replace("4\n", "4 # high\n"))
    do(session, RenamePreset("theirs", "ours"), Save(), Undo(), Save())
    assert (tmp_path / "scene.toml").read_text().endswith('[presets.theirs]\n"row.height" = 4 # high\n')
    do(session, Redo(), Save())
    assert (tmp_path / "scene.toml").read_text().endswith('[presets.ours]\n"row.height" = 4 # high\n')
    assert not session.unsaved and not session.messages


def test_a_preset_that_takes_the_name_of_a_deleted_one_is_saved(opened, tmp_path):
    session = opened(SCENE + PRESET + PRESET.replace("theirs", "other").replace("4", "5"))
    do(session, DeletePreset("other"), RenamePreset("theirs", "other"), Save())
    assert load(tmp_path / "scene.toml").presets == {"other": {HEIGHT.path: 4.0}} and not session.unsaved


def test_presets_that_swap_names_are_saved(opened, tmp_path):
    session = opened(SCENE + PRESET + PRESET.replace("theirs", "other").replace("4", "5"))
    do(session, RenamePreset("other", "x"), RenamePreset("theirs", "other"), RenamePreset("x", "theirs"), Save())
    found = load(tmp_path / "scene.toml").presets
    assert found == {"other": {HEIGHT.path: 4.0}, "theirs": {HEIGHT.path: 5.0}} and not session.unsaved
    assert values(session, "row.phase").size
