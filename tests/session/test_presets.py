"""Presets: stored, applied, updated, renamed, deleted; and read from the scene's file."""

import pytest

from vertigrad.session.commands import (
    ApplyPreset,
    DeletePreset,
    Reload,
    RenamePreset,
    SavePreset,
    SetParameter,
    UpdatePreset,
)
from vertigrad.session.parameters import Key

from .running import SCENE, run_frame, written

HEIGHT, COUNT, GLOW = Key("models.row", "height"), Key("models.row", "count"), Key("layers.dots", "emissive")
PRESETS = """
[presets.high]
"row.height" = 5
"view.background" = "#102030"

[presets."very high"]
"models.row.height" = 9.5
"row.count" = 4
"""


def do(session, *commands) -> dict[str, dict[Key, object]]:
    """The presets after some commands."""
    for command in commands:
        session.post(command)
    run_frame(session)
    return {preset.name: dict(preset.values) for preset in session.scene_edits.extras.presets}


def test_presets_of_the_file_can_be_applied(opened):
    session = opened(SCENE + PRESETS)
    assert list(do(session, ApplyPreset("high"))) == ["high", "very high"]
    assert session.scene_edits.differing() == {HEIGHT: 5.0, Key("view", "background"): (16 / 255, 32 / 255, 48 / 255)}
    do(session, ApplyPreset("very high"))
    assert (session.scene_edits.value(HEIGHT), session.scene_edits.value(COUNT)) == (9.5, 4)
    assert len(session.stage.instances["row"].outputs["phase"].numpy()) == 4


def test_a_preset_stores_what_differs_from_the_scene(opened):
    session = opened(sets=["row.wrong_by=2"])
    assert do(session, SetParameter(*HEIGHT, 2.0), SavePreset("mine")) == {"mine": {HEIGHT: 2.0}}
    found = do(session, SetParameter(*HEIGHT, 0.0), SetParameter(*GLOW, 0.5), UpdatePreset("mine"))
    assert found == {"mine": {HEIGHT: 0.0, GLOW: 0.5}}
    assert do(session, SavePreset("mine")) == {"mine": {GLOW: 0.5}}


def test_names_and_order(opened):
    session = opened(SCENE + PRESETS)
    assert list(do(session, RenamePreset("high", "high"))) == ["high", "very high"]
    assert not session.messages and session.scene_edits.history.done == []
    assert list(do(session, RenamePreset("high", "hoch"))) == ["hoch", "very high"]
    assert list(do(session, DeletePreset("hoch"), SetParameter(*HEIGHT, 1.0), SavePreset("new"))) == [
        "very high",
        "new",
    ]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (ApplyPreset("hihg"), 'unknown preset "hihg"; did you mean "high"?'),
        (UpdatePreset("x"), "unknown preset"),
        (DeletePreset("x"), "unknown preset"),
        (RenamePreset("x", "y"), "unknown preset"),
        (RenamePreset("high", "very high"), 'a preset "very high" already exists'),
        (RenamePreset("high", " "), "a preset needs a name that can be read"),
        (RenamePreset("high", "a\nb"), "a preset needs a name that can be read"),
        (SavePreset("x" * 61), "at most 60 characters"),
        (SavePreset("x"), "none do now"),
    ],
)
def test_invalid_commands_change_nothing_and_give_the_reason(opened, command, message):
    session = opened(SCENE + PRESETS)
    before = session.scene_edits.extras
    do(session, command)
    assert message in session.messages["presets"]
    assert session.scene_edits.extras == before and session.scene_edits.history.done == []


def test_a_preset_that_cannot_be_built_changes_nothing(opened):
    text = SCENE.replace('"rising"', '"rising"\nforbidden = 4') + PRESETS
    session = opened(text)
    do(session, ApplyPreset("very high"))
    assert "not with 4 points" in session.messages["presets"]
    assert session.scene_edits.differing() == {} and session.scene_edits.history.done == []


def test_a_reload_keeps_presets_of_the_user_and_adds_those_of_the_file(opened, tmp_path):
    session = opened(SCENE + PRESETS)
    written(tmp_path, SCENE + PRESETS.replace("9.5", "9"))
    assert do(session, Reload())["very high"][HEIGHT] == 9.0
    do(session, SetParameter(*HEIGHT, 1.0), SavePreset("mine"))
    written(tmp_path, SCENE + '[presets.theirs]\n"row.height" = 1\n')
    assert list(do(session, Reload())) == ["mine", "theirs"], "two went in the file, where one came"
    assert session.unsaved and not session.messages
    assert list(do(session, Reload(written(tmp_path, SCENE, "other.toml")))) == []
