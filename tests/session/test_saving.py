"""What counts as unsaved, and what saving writes: the changed values, and no other byte."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from vertigrad import resources
from vertigrad.gpu import Gpu
from vertigrad.params import ParamSpec
from vertigrad.scene import Animation, load, trust
from vertigrad.scene.kinds import scene_name
from vertigrad.session import Session
from vertigrad.session.command_line import command_line
from vertigrad.session.commands import (
    AddBookmark,
    Animate,
    Ask,
    DeletePreset,
    Leave,
    Open,
    Play,
    Reload,
    RenamePreset,
    ResetParameters,
    Save,
    SaveAs,
    SavePreset,
    SetParameter,
    SetSeed,
    SetSubsteps,
    Undo,
    UpdatePreset,
)
from vertigrad.session.naming import plain
from vertigrad.session.parameters import Key
from vertigrad.session.questions import Question

from .running import SCENE, run_frame, values, written
from .test_code import CODE

HEIGHT, COUNT, GLOW = Key("models.row", "height"), Key("models.row", "count"), Key("layers.dots", "emissive")
COMMENTED = SCENE.replace('type = "rising"', 'type = "rising"  # a row\n  height = 1.0   # above the ground')


def do(session: Session, *commands) -> None:
    for command in commands:
        session.post(command)
    run_frame(session)


def text(session: Session) -> str:
    return session.scene.path.read_bytes().decode()


def test_one_value_is_written_and_no_other_byte(opened):
    session = opened(COMMENTED)
    do(session, SetParameter(*HEIGHT, 2.5))
    assert session.unsaved
    do(session, Save())
    assert text(session) == COMMENTED.replace("height = 1.0 ", "height = 2.5 ")
    assert not session.unsaved and not session.messages


def test_a_missing_key_is_added_to_its_table(opened):
    session = opened(COMMENTED)
    do(
        session,
        SetParameter(*COUNT, 4),
        SetParameter(*GLOW, 0.5),
        SetParameter("view", "background", "#102030"),
        Save(),
    )
    expected = COMMENTED.replace("the ground\n", "the ground\n  count = 4\n").replace(
        "size = 0.1\n", "size = 0.1\nemissive = 0.5\n"
    )
    assert text(session) == expected + '\n[view]\nbackground = "#102030"\n'


def test_unchanged_or_reverted_values_are_not_unsaved(opened):
    session = opened(COMMENTED)
    assert not session.unsaved
    do(session, SetParameter(*HEIGHT, 2.5))
    assert session.unsaved
    do(session, SetParameter(*HEIGHT, 1.0))
    assert not session.unsaved
    do(session, SetParameter(*HEIGHT, 2.5), Undo())
    assert not session.unsaved
    os.utime(session.scene.path, (7, 7))
    do(session, Save())
    assert text(session) == COMMENTED and session.scene.path.stat().st_mtime == 7, "nothing had to be written"


def test_undo_after_saving_is_unsaved_again_and_redo_is_not(opened):
    session = opened(COMMENTED)
    do(session, SetParameter(*HEIGHT, 2.5), Save(), Undo())
    assert session.unsaved and session.scene_edits.value(HEIGHT) == 1.0
    do(session, Save())
    assert text(session) == COMMENTED


def test_a_run_continues_while_it_is_saved(opened):
    session = opened(COMMENTED)
    run_frame(session)
    instance = session.stage.instances["row"]
    do(session, SetParameter(*HEIGHT, 2.5), Save())
    assert session.stage.instances["row"] is instance and session.frame == 2
    assert session.originals()["models.row"].height == 2.5, "a reset goes to what is in the file now"
    do(session, SetParameter(*HEIGHT, 3.0), ResetParameters())
    assert session.scene_edits.value(HEIGHT) == 2.5


def test_values_of_the_command_line_are_saved_but_not_asked_about(opened):
    session = opened(COMMENTED, sets=["row.height=4", "camera.fov=20", "row.count=4"], seed=17)
    assert not session.unsaved
    do(session, SetParameter(*HEIGHT, 1.0))
    assert not session.unsaved, "as the file has it"
    do(session, SetParameter(*HEIGHT, 4.0), SetParameter(*GLOW, 0.5))
    assert session.unsaved
    do(session, Save())
    assert text(session) == COMMENTED.replace("height = 1.0 ", "height = 4.0 ").replace(
        "the ground\n", "the ground\n  count = 4\n"
    ).replace("size = 0.1\n", "size = 0.1\nemissive = 0.5\n")
    do(session, SetParameter(*HEIGHT, 1.0), Save(), Reload(restart=True))
    assert session.scene_edits.value(HEIGHT) == 1.0, "the file has the word now"
    assert (session.scene.camera.fov, session.stage.instances["row"].model.seed) == (20.0, 17)


def test_seeds_and_substeps_that_were_changed_are_saved(opened):
    other = '\n[models.other]\ntype = "rising"\nseed = 5\n'
    session = opened(COMMENTED + other, seed=17)
    assert not session.unsaved
    do(session, SetSubsteps("row", 3), Save())
    assert text(session) == COMMENTED.replace("the ground\n", "the ground\n  substeps = 3\n") + other
    assert not session.unsaved and session.source.seed == 17
    do(session, SetSeed(9, "row"))
    assert session.unsaved and command_line(session).count("row.seed=9") == 1
    do(session, Save())
    expected = COMMENTED.replace("the ground\n", "the ground\n  substeps = 3\n  seed = 9\n")
    assert text(session) == expected + other.replace("seed = 5", "seed = 17")
    do(session, Reload(restart=True))
    assert not session.unsaved and not session.messages
    assert [spec.seed for spec in session.stage.specs.values()] == [9, 17]


def test_a_saved_seed_replaces_one_of_the_command_line(opened):
    session = opened(COMMENTED, sets=["row.seed=3", "camera.fov=20"])
    assert not session.unsaved
    do(session, SetSeed(9, "row"), Save())
    assert not session.unsaved and session.source.sets == ("camera.fov=20",)
    assert text(session) == COMMENTED.replace("the ground\n", "the ground\n  seed = 9\n")


def test_bookmarks_are_saved_with_the_rest(opened):
    session = opened(COMMENTED)
    do(session, AddBookmark("here"))
    assert session.unsaved
    do(session, Save())
    assert not session.unsaved and list(load(session.scene.path).bookmarks) == ["here"]
    assert text(session).startswith(COMMENTED)


def test_presets_and_animations_are_saved_and_read_again(opened):
    session = opened(COMMENTED)
    moves = Animation(shape="noise", range=(0.25, 1.0), seed=3)
    do(session, SetParameter(*HEIGHT, 2.0), SetParameter("view", "background", (0.1, 0.2, 0.3)), SavePreset("two 2"))
    assert session.unsaved
    do(session, SetParameter(*HEIGHT, 1.0), ResetParameters(), Animate(*GLOW, moves), Save())
    assert not session.unsaved
    added = '\n[presets."two 2"]\n"row.height" = 2.0\n"view.background" = [0.1, 0.2, 0.3]\n'
    added += '\n[animations."layers.dots.emissive"]\nshape = "noise"\nrange = [0.25, 1.0]\nseed = 3\n'
    assert text(session) == COMMENTED + added
    again = load(session.scene.path)
    assert again.animations == {GLOW.path: moves}
    assert again.presets["two 2"] == {HEIGHT.path: 2.0, ("view", "background"): (0.1, 0.2, 0.3)}
    do(session, RenamePreset("two 2", "two"), Save())
    assert text(session) == (COMMENTED + added).replace('[presets."two 2"]', "[presets.two]")
    do(session, SetParameter(*HEIGHT, 3.0), UpdatePreset("two"), SetParameter(*HEIGHT, 1.0), Save())
    assert '"row.height" = 3.0\n' in text(session) and not session.unsaved
    do(session, DeletePreset("two"), Animate(*GLOW, None), Save())
    assert text(session).count("\n[") == COMMENTED.count("\n[") and "emissive = " in text(session)


def test_a_preset_with_the_name_of_a_deleted_one(opened):
    session = opened(COMMENTED + '\n# of a\n[presets.a]\n"models.row.height" = 7 # seven\n')
    do(session, DeletePreset("a"), SetParameter(*HEIGHT, 8.0), SavePreset("a"), SetParameter(*HEIGHT, 1.0), Save())
    assert load(session.scene.path).presets == {"a": {HEIGHT.path: 8.0}} and not session.messages
    do(session, SetParameter(*HEIGHT, 9.0), SavePreset("a"), SetParameter(*HEIGHT, 1.0), Save())
    assert load(session.scene.path).presets == {"a": {HEIGHT.path: 9.0}} and not session.unsaved


def test_the_spelling_of_a_preset_in_the_file_is_retained(opened):
    mine = COMMENTED + '\n[presets.a]\n"models.row.height" = 7 # seven\n'
    session = opened(mine)
    do(session, SetParameter(*HEIGHT, 8.0), UpdatePreset("a"), SetParameter(*HEIGHT, 1.0), Save())
    assert text(session) == mine.replace("= 7 #", "= 8 #")


def test_files_are_written_as_a_scene_names_them(tmp_path):
    spec = ParamSpec(kind="file")
    assert plain(spec, resources.path("assets", "weights", "neural_field.safetensors"), tmp_path).startswith("assets/w")
    assert plain(spec, tmp_path / "a" / "b.bin", tmp_path) == "a/b.bin"
    assert plain(spec, tmp_path / "assets" / "b.bin", tmp_path) == "./assets/b.bin"
    color = ParamSpec(kind="color", length=3)
    assert plain(color, (1.0, 128 / 255, 0.0), tmp_path) == "#ff8000"
    assert plain(color, (1.0, 0.5, 0.0), tmp_path) == [1.0, 0.5, 0.0]


# files changed by others --------------------------------------------------------------------------------------------


def test_a_file_that_was_changed_meanwhile_asks(opened, tmp_path):
    session = opened(COMMENTED)
    do(session, Play(False), SetParameter(*HEIGHT, 2.0))
    theirs = COMMENTED.replace("size = 0.1", "size = 0.2")
    written(tmp_path, theirs)
    do(session, Save())
    assert session.questions.first and session.questions.first.about == "changed" and session.unsaved
    assert text(session) == theirs
    do(session, Save(overwrite=True))
    assert text(session) == COMMENTED.replace("height = 1.0 ", "height = 2.0 ")
    assert session.questions.first is None and not session.unsaved


def test_a_file_that_is_gone_is_written_again(opened):
    session = opened(COMMENTED)
    do(session, SetParameter(*HEIGHT, 2.0))
    session.scene.path.unlink()
    do(session, Save())
    assert text(session) == COMMENTED.replace("height = 1.0 ", "height = 2.0 ")


def test_a_read_only_file_requires_another_name(opened, tmp_path):
    session = opened(COMMENTED)
    session.scene.path.chmod(0o444)
    do(session, SetParameter(*HEIGHT, 2.0), Save())
    assert (
        session.questions.first
        and session.questions.first.about == "name"
        and "is read-only" in session.questions.first.reason
    )
    do(session, SaveAs(tmp_path / "mine.toml"))
    assert session.questions.first is None and session.scene.path == tmp_path / "mine.toml" and not session.unsaved
    assert (tmp_path / "scene.toml").read_text() == COMMENTED
    do(session, SetParameter(*HEIGHT, 3.0), Save())
    assert text(session) == COMMENTED.replace("height = 1.0 ", "height = 3.0 ")


def test_a_packaged_scene_requires_another_name(steady: Gpu, tmp_path):
    path = resources.path("scenes", "nbody.toml")
    before = path.read_bytes()
    with Session(steady, path, ["galaxy.count=64"]) as session:
        do(session, SetParameter("models.galaxy", "softening", 0.2), Save())
        assert (
            session.questions.first
            and session.questions.first.about == "name"
            and "comes with Vertigrad" in session.questions.first.reason
        )
        assert path.read_bytes() == before
        do(session, SaveAs(tmp_path / "mine.toml"))
        assert not session.messages and not session.unsaved
        expected = before.decode().replace("softening = 0.12", "softening = 0.2").replace("count = 8192", "count = 64")
        assert text(session) == expected


def test_saving_as_does_not_overwrite_a_file_unless_requested(opened, tmp_path):
    session = opened(COMMENTED)
    other = tmp_path / "other.toml"
    other.write_text("mine")
    do(session, SetParameter(*HEIGHT, 2.0), SaveAs(other))
    assert "exists already" in session.messages["save"] and other.read_text() == "mine" and session.unsaved
    do(session, SaveAs(other, overwrite=True))
    assert not session.messages and session.scene.path == other


def test_a_copy_without_its_data_files_is_rejected(steady: Gpu, tmp_path):
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
    shutil.copy(resources.path("assets", "weights", "neural_field.safetensors"), tmp_path / "here" / "w.safetensors")
    scene = 'version = 1\n[models.a]\ntype = "neural_field"\nresolution = 8\nweights = "w.safetensors"\n'
    path = written(tmp_path / "here", scene)
    with Session(steady, path) as session:
        do(session, SetParameter("models.a", "height", 0.7), SaveAs(tmp_path / "there" / "scene.toml"))
        warning = f"{tmp_path / 'there'}: the scene reads w.safetensors of {tmp_path / 'here'}"
        assert session.messages["save"].startswith(warning) and ".tmp" not in session.messages["save"]
        assert os.listdir(tmp_path / "there") == [] and session.scene.path == path and session.unsaved
        do(session, SaveAs(tmp_path / "here" / "b.toml"))
        assert not session.messages and session.scene_edits.value(Key("models.a", "height")) == 0.7


@pytest.mark.parametrize("name", ["no/folder/scene.toml", "x" * 300 + ".toml"])
def test_an_invalid_name_is_reported(opened, tmp_path, name):
    session = opened(COMMENTED)
    do(session, SetParameter(*HEIGHT, 2.0), SaveAs(tmp_path / name))
    assert session.messages["save"] and session.unsaved and session.scene.path.name == "scene.toml"


def test_a_copy_in_a_parent_folder_has_relative_paths_from_there(steady: Gpu, tmp_path):
    (tmp_path / "inner").mkdir()
    shutil.copy(resources.path("assets", "weights", "neural_field.safetensors"), tmp_path / "inner" / "w.safetensors")
    scene = 'version = 1\n[models.a]\ntype = "neural_field"\nresolution = 8\nweights = "w.safetensors" # trained\n'
    with Session(steady, written(tmp_path / "inner", scene)) as session:
        do(session, SetParameter("models.a", "height", 0.7), SaveAs(tmp_path / "copy.toml"))
        assert not session.messages and not session.unsaved
        expected = scene.replace('"w.safetensors" # trained', '"inner/w.safetensors" # trained\nheight = 0.7')
        assert text(session) == expected
        do(session, SetParameter("models.a", "height", 0.8), SaveAs(tmp_path / "inner" / "back.toml"))
        assert text(session) == expected.replace("inner/", "").replace("0.7", "0.8") and not session.messages


def test_a_copy_next_to_a_copy_of_its_data_refers_to_that(steady: Gpu, tmp_path):
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        np.save(tmp_path / folder / "a.npy", np.zeros((8, 8), np.float32))
    scene = 'version = 1\n[models.a]\ntype = "array"\nfile = "a.npy"\n'
    with Session(steady, written(tmp_path / "here", scene)) as session:
        do(session, SaveAs(tmp_path / "there" / "scene.toml"))
        assert not session.messages and text(session) == scene


def test_the_python_path_of_a_copy_is_relative_to_its_folder(opened, tmp_path, monkeypatch):
    monkeypatch.setattr(trust, "_allowed", set())
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "row.py").write_text(CODE)
    trust.allow([tmp_path / "own" / "row.py"])
    with Session(opened().gpu, written(tmp_path / "own", 'version = 1\n[models.a]\ntype = "row.py:Row"\n')) as session:
        do(session, SaveAs(tmp_path / "copy.toml"))
        assert not session.messages and 'type = "own/row.py:Row"' in text(session)


@pytest.mark.parametrize("name", ["galaxy.v2", "galaxy", "galaxy.txt"])
def test_a_scene_is_saved_under_names_that_can_be_opened_again(opened, tmp_path, name):
    session = opened(COMMENTED)
    do(session, SaveAs(tmp_path / name))
    assert "ends in .toml" in session.messages["save"] and not (tmp_path / name).exists()
    assert scene_name(tmp_path / name) == tmp_path / f"{name}.toml"


def test_opened_data_is_saved_as_a_scene_in_the_same_folder(steady: Gpu, tmp_path):
    """The scene differs from the disk, but was not edited."""
    np.save(tmp_path / "a.npy", np.zeros((8, 8), np.float32))
    with Session(steady, tmp_path / "a.npy") as session:
        do(session, SetParameter("view", "exposure", 1.5), Save())
        assert (
            session.questions.first
            and session.questions.first.about == "name"
            and "is a data file" in session.questions.first.reason
        )
        assert scene_name(session.scene.path) == tmp_path / "a.toml"
        do(session, SaveAs(tmp_path / "a.toml"))
        assert not session.messages and session.questions.first is None and not session.unsaved
        do(session, SetParameter("view", "exposure", 1.6), Save())
        assert load(tmp_path / "a.toml").view.exposure == 1.6


def test_a_symbolic_link_that_changed_is_not_written_through(opened, tmp_path):
    link = tmp_path / "link.toml"
    link.symlink_to(written(tmp_path, COMMENTED, "one.toml"))
    written(tmp_path, COMMENTED, "two.toml")
    with Session(opened().gpu, link) as session:
        do(session, SetParameter(*HEIGHT, 2.5), Save())
        assert (tmp_path / "one.toml").read_text() == COMMENTED.replace("height = 1.0 ", "height = 2.5 ")
        assert link.is_symlink() and session.running.source.path == link
        link.unlink()
        link.symlink_to(tmp_path / "two.toml")
        do(session, SetParameter(*HEIGHT, 3.0), Save())
        assert session.questions.first and session.questions.first.about == "changed"
        do(session, Reload(), Save())
        assert session.scene.path == tmp_path / "two.toml" and session.questions.first is None
        assert (tmp_path / "two.toml").read_text() == COMMENTED.replace("height = 1.0 ", "height = 3.0 ")
        assert (tmp_path / "one.toml").read_text() == COMMENTED.replace("height = 1.0 ", "height = 2.5 ")


# questions ----------------------------------------------------------------------------------------------------------


def test_questions_wait_for_each_other(opened, tmp_path):
    session, other = opened(COMMENTED), written(tmp_path, COMMENTED, "other.toml")
    do(session, SetParameter(*HEIGHT, 2.0), Open(other), Leave(), Leave())
    assert session.questions.first and session.questions.first.then == Open(other, discard=True)
    do(session, Ask(None))
    assert session.questions.first and session.questions.first.then == Leave(discard=True)
    do(session, Ask(None))
    assert session.questions.first is None


def test_a_pending_question_is_dropped_once_all_is_saved(opened, tmp_path):
    session, other = opened(COMMENTED), written(tmp_path, COMMENTED, "other.toml")
    do(session, SetParameter(*HEIGHT, 2.0), Open(other), Leave())
    do(session, Save(then=session.questions.first.then))
    run_frame(session)
    assert session.questions.first is None and session.leaving and session.scene.path == other


def test_a_question_about_code_is_not_answered_by_saving(opened, tmp_path):
    session = opened(COMMENTED)
    code = Question("code", "Run it?", Reload())
    do(session, SetParameter(*HEIGHT, 2.0), Ask(code), Leave())
    assert session.questions.first == code
    do(session, Save())
    assert session.questions.first == code and not session.unsaved
    do(session, code.then)
    assert session.questions.first is None, "it was answered: what waited for that is done"


# quitting -----------------------------------------------------------------------------------------------------------


def test_quitting_asks_only_if_edits_would_be_lost(opened):
    session = opened(COMMENTED)
    do(session, SetParameter(*HEIGHT, 2.0), Leave())
    assert not session.leaving and session.questions.first and session.questions.first.about == "leave"
    then = session.questions.first.then
    do(session, Save(then=then))
    assert session.leaving and session.questions.first is None
    assert text(session) == COMMENTED.replace("height = 1.0 ", "height = 2.0 ")
    quiet = opened(COMMENTED)
    do(quiet, Leave())
    assert quiet.leaving


def test_quitting_can_discard_everything(opened):
    session = opened(COMMENTED)
    do(session, SetParameter(*HEIGHT, 2.0), Leave())
    assert session.questions.first
    do(session, session.questions.first.then)
    assert session.leaving and text(session) == COMMENTED


def test_quitting_waits_for_a_file_name(opened, tmp_path):
    session = opened(COMMENTED)
    session.scene.path.chmod(0o444)
    do(session, SetParameter(*HEIGHT, 2.0), Leave())
    assert session.questions.first
    do(session, Save(then=session.questions.first.then))
    assert not session.leaving and session.questions.first.about == "name"
    do(session, SaveAs(tmp_path / "mine.toml", then=session.questions.first.then))
    run_frame(session)
    assert session.leaving and (tmp_path / "mine.toml").exists()


def test_quitting_is_canceled_when_saving_fails(opened):
    session = opened(COMMENTED)
    folder: Path = session.scene.path.parent
    do(session, SetParameter(*HEIGHT, 2.0), Leave())
    assert session.questions.first
    moved = folder.rename(folder.with_name("moved"))
    do(session, Save(then=session.questions.first.then))
    assert not session.leaving and "there is no folder" in session.messages["save"]
    moved.rename(folder)
    assert values(session, "row.phase").size
