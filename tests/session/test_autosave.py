"""Unsaved edits survive the end of the program, also a crash, and are offered at the next start."""

import os
from pathlib import Path

import pytest

from vertigrad.gpu import Gpu
from vertigrad.scene import Animation
from vertigrad.session import Session
from vertigrad.session.autosave import EVERY, SLOTS, Autosave, DiscardAutosave, PostponeAutosave, Restore, take_slot
from vertigrad.session.commands import (
    AddBookmark,
    Animate,
    Ask,
    DeletePreset,
    Open,
    RenamePreset,
    Save,
    SavePreset,
    SetParameter,
    SetSeed,
    SetSubsteps,
    Undo,
)
from vertigrad.session.parameters import Key
from vertigrad.session.saving import entries

from .running import SCENE, run_frame, written

HEIGHT, GLOW = Key("models.row", "height"), Key("layers.dots", "emissive")


class Clock:
    """A clock that the test advances."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def started(opened, tmp_path, clock):
    """A session with autosave, as in the window."""

    def start(text: str = SCENE) -> Session:
        session = opened(text)
        session.autosave = Autosave(tmp_path / "unsaved", clock)
        session.autosave.follow(session)
        return session

    yield start


def do(session: Session, *commands) -> None:
    for command in commands:
        session.post(command)
    run_frame(session)
    session.autosave.follow(session)


def later(session: Session, clock: Clock) -> None:
    clock.now += EVERY
    session.autosave.follow(session)


def die(session: Session) -> None:
    """Simulate a killed process: the system releases its locks, and nothing else happens."""
    for slot in (session.autosave._slot, session.autosave._offered):
        if slot is not None:
            slot._lock.close()
            slot._lock = None
    session.autosave = None


def autosaves(tmp_path: Path) -> list[Path]:
    return sorted(path for path in (tmp_path / "unsaved").glob("*.toml") if ".base" not in path.name)


def test_changes_are_written_together_after_a_delay(started, clock, tmp_path):
    session = started()
    later(session, clock)
    assert not autosaves(tmp_path), "nothing was changed"
    do(session, SetParameter(*HEIGHT, 2.5))
    clock.now += EVERY / 2
    do(session, SetParameter(*GLOW, 0.5))
    assert not autosaves(tmp_path)
    clock.now += EVERY / 2
    session.autosave.follow(session)
    (file,) = autosaves(tmp_path)
    assert "height = 2.5" in file.read_text() and "emissive = 0.5" in file.read_text()
    assert session.scene.path.read_text() == SCENE, "the scene's own file is unchanged"


@pytest.mark.parametrize("command", [Save(), Undo()])
def test_saved_or_undone_edits_are_removed(started, clock, tmp_path, command):
    session = started()
    do(session, SetParameter(*HEIGHT, 2.5))
    later(session, clock)
    assert autosaves(tmp_path)
    do(session, command)
    later(session, clock)
    assert not autosaves(tmp_path)


def test_quitting_without_saving_removes_it_and_any_other_end_retains_it(started, clock, tmp_path):
    for leaving in (False, True):
        session = started()
        do(session, Ask(None), SetParameter(*HEIGHT, 2.5 + leaving))
        session.leaving = leaving
        session.autosave.discard()
        session.autosave.finish(session)
        assert len(autosaves(tmp_path)) == (not leaving), "written at once, and dropped at once"
    assert not list((tmp_path / "unsaved").iterdir()), "no lock is left"


def test_all_edits_are_restored_as_one_step(started, clock, tmp_path):
    session = started()
    do(
        session,
        SetParameter(*HEIGHT, 2.5),
        SetParameter(*GLOW, 0.5),
        SetParameter("view", "theme", "paper"),
        SetSeed(7),
        SetSubsteps("row", 3),
        AddBookmark("here"),
        SavePreset("mine"),
        SavePreset("gone"),
        RenamePreset("mine", "ours"),
        DeletePreset("gone"),
        Animate(*GLOW, Animation(shape="sine", range=(0.1, 0.9))),
    )
    assert not session.messages
    later(session, clock)
    expected = entries(session)
    assert expected.values
    die(session)
    again = started()
    assert again.questions.first.about == "restore" and str(autosaves(tmp_path)[0]) in again.questions.first.reason
    assert not again.unsaved
    do(again, Ask(None), again.questions.first.then)
    assert not again.messages and again.questions.first is None
    found = entries(again)
    assert found.values == expected.values
    assert again.unsaved and len(again.scene_edits.history.done) == 1
    later(again, clock)
    assert len(autosaves(tmp_path)) == 1, "it is retained until it is saved"
    do(again, Undo())
    later(again, clock)
    assert not again.unsaved and not autosaves(tmp_path)


def test_an_edit_of_the_file_in_between_is_retained(started, clock, tmp_path):
    session = started()
    do(session, SetParameter(*HEIGHT, 2.5))
    later(session, clock)
    die(session)
    again = started(SCENE.replace("[layers.dots]", "[layers.dots]\nemissive = 0.25"))
    do(again, Ask(None), Restore())
    parameters = again.parameters()
    assert parameters["models.row"].height == 2.5 and parameters["layers.dots"].emissive == 0.25


def test_discard_removes_it_and_later_asks_again(started, clock, tmp_path):
    session = started()
    do(session, SetParameter(*HEIGHT, 2.5))
    later(session, clock)
    die(session)
    again = started()
    do(again, Ask(None), PostponeAutosave())
    do(again, SetParameter(*GLOW, 0.5))
    later(again, clock)
    assert len(autosaves(tmp_path)) == 2, "new edits do not overwrite undecided ones"
    again.leaving = True
    again.autosave.finish(again)
    once_more = started()
    assert once_more.questions.first.about == "restore"
    do(once_more, Ask(None), DiscardAutosave())
    assert not autosaves(tmp_path) and once_more.questions.first is None
    once_more.autosave.finish(once_more)
    assert started().questions.first is None


def test_a_scene_that_runs_twice_has_two_and_neither_is_offered(started, clock, tmp_path):
    first, second = started(), started()
    for session, height in ((first, 2.5), (second, 3.5)):
        do(session, SetParameter(*HEIGHT, height))
        later(session, clock)
    assert sorted("2.5" in file.read_text() for file in autosaves(tmp_path)) == [False, True]
    third = started()
    assert third.questions.first is None, "they are in use"
    die(second)
    assert "3.5" in take_slot(tmp_path / "unsaved", third.scene.path).edited.read_text()


def test_more_windows_than_slots(tmp_path):
    slots = [take_slot(tmp_path, Path("/scene.toml")) for _ in range(SLOTS + 1)]
    assert slots[-1] is None and None not in slots[:-1]
    slots[3].close()
    assert take_slot(tmp_path, Path("/scene.toml")).edited == slots[3].edited


def test_another_scene_has_its_own_autosave(started, steady: Gpu, clock, tmp_path):
    session = started()
    do(session, SetParameter(*HEIGHT, 2.5))
    later(session, clock)
    (tmp_path / "other").mkdir()
    other = written(tmp_path / "other", SCENE)
    do(session, Open(other, discard=True))
    assert not autosaves(tmp_path), "they were given up"
    do(session, SetParameter(*HEIGHT, 3.5))
    later(session, clock)
    assert len(autosaves(tmp_path)) == 1
    do(session, Open(tmp_path / "scene.toml", discard=True))
    assert session.questions.first is None


@pytest.mark.parametrize("damage", [b"", b"version = ", b"\xff\xfe\x00", b"version = 1\n[models.gone]\n"])
def test_a_damaged_autosave_is_reported_and_retained(started, clock, tmp_path, damage):
    session = started()
    do(session, SetParameter(*HEIGHT, 2.5))
    later(session, clock)
    die(session)
    (file,) = autosaves(tmp_path)
    file.write_bytes(damage)
    again = started()
    do(again, Ask(None), Restore())
    assert again.messages["autosave"] and not again.unsaved
    do(again, SetParameter(*GLOW, 0.5))
    later(again, clock)
    assert file.read_bytes() == damage and len(autosaves(tmp_path)) == 2


def test_edits_are_never_combined_with_the_text_of_another_file(started, clock, tmp_path, monkeypatch):
    """A crash between the two writes loses the last edits, and combines no two versions."""
    session = started()
    do(session, SetParameter(*HEIGHT, 2.5))
    later(session, clock)
    slot, real = session.autosave._slot, os.replace
    old = slot.texts()

    def crash(source, target):
        real(source, target)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", crash)
    with pytest.raises(KeyboardInterrupt):
        slot.write(old[0] + "# another\n", old[1] + "# another\n")
    monkeypatch.setattr(os, "replace", real)
    assert not slot.used


def test_a_folder_that_cannot_be_written_is_reported_once(started, clock, tmp_path, caplog):
    (tmp_path / "unsaved").write_text("a file")
    session = started()
    for height in (2.5, 3.5):
        do(session, SetParameter(*HEIGHT, height))
        later(session, clock)
    session.autosave.finish(session)
    assert caplog.text.count("they cannot be stored") == 1
