"""Undo and redo: what is one step, what is restored, what is not recorded."""

import random

import numpy as np
import pytest

from vertigrad.errors import OutOfMemory
from vertigrad.scene import Animation
from vertigrad.session import Session
from vertigrad.session.commands import (
    Animate,
    ApplyPreset,
    DeletePreset,
    Play,
    Randomize,
    Redo,
    Reload,
    RenamePreset,
    ResetParameters,
    SavePreset,
    SetParameter,
    SetParameters,
    SwitchSide,
    Undo,
)
from vertigrad.session.parameters import Key
from vertigrad.session.undo import MOST

from .running import LINKED, SCENE, Rising, run_frame, values, written

HEIGHT, COUNT, GLOW = Key("models.row", "height"), Key("models.row", "count"), Key("layers.dots", "emissive")


def do(session: Session, *commands) -> None:
    for command in commands:
        session.post(command)
    run_frame(session)


def height(session: Session) -> float:
    return session.scene_edits.value(HEIGHT)


def labels(session: Session) -> list[str]:
    return [step.label for step in session.scene_edits.history.done]


def test_a_value_goes_back_and_forth(opened):
    session = opened()
    do(session, SetParameter(*HEIGHT, 3.0), SetParameter(*GLOW, 0.5))
    do(session, Undo())
    assert (height(session), session.scene_edits.value(GLOW)) == (3.0, 0.0)
    do(session, Undo())
    assert height(session) == 0.0
    do(session, Undo())
    assert height(session) == 0.0, "there is nothing more to undo"
    do(session, Redo(), Redo(), Redo())
    assert (height(session), session.scene_edits.value(GLOW)) == (3.0, 0.5)


def test_an_undone_value_updates_a_paused_model_immediately(opened):
    session = opened()
    do(session, Play(False), SetParameter(*HEIGHT, 3.0))
    do(session, Undo())
    assert values(session, "row.position")[0, 1] == values(session, "row.phase")[0]


def test_a_drag_is_one_step_and_another_drag_is_another(opened):
    session = opened()
    for value in (1.0, 2.0, 3.0):
        do(session, SetParameter(*HEIGHT, value, stroke=7))
    for value in (4.0, 5.0):
        do(session, SetParameter(*HEIGHT, value, stroke=8))
    assert labels(session) == ["height", "height"]
    do(session, Undo())
    assert height(session) == 3.0
    do(session, Undo())
    assert height(session) == 0.0
    do(session, Redo(), Redo())
    assert height(session) == 5.0


def test_a_drag_that_returns_to_its_start_is_no_step(opened):
    session = opened()
    for value in (1.0, 0.0, 2.0, 0.0):
        do(session, SetParameter(*HEIGHT, value, stroke=7))
    assert labels(session) == []


def test_the_same_stroke_after_an_undo_is_a_new_step(opened):
    session = opened()
    do(session, SetParameter(*HEIGHT, 1.0), SetParameter(*HEIGHT, 2.0, stroke=7), Undo())
    do(session, SetParameter(*HEIGHT, 3.0, stroke=7))
    assert len(labels(session)) == 2
    do(session, Undo())
    assert height(session) == 1.0


def test_setting_the_same_value_is_no_step(opened):
    session = opened()
    do(session, SetParameter(*HEIGHT, 0.0), ResetParameters(), ResetParameters((HEIGHT,)))
    assert labels(session) == []


def test_a_new_change_clears_the_redo_steps(opened):
    session = opened()
    do(session, SetParameter(*HEIGHT, 1.0), Undo(), SetParameter(*HEIGHT, 2.0), Redo())
    assert height(session) == 2.0


@pytest.mark.parametrize("value", [99.0, "high", None])
def test_a_refused_value_is_no_step(opened, value):
    session = opened()
    do(session, SetParameter(*HEIGHT, 1.0), SetParameter(*HEIGHT, value))
    assert labels(session) == ["height"] and session.messages
    do(session, Undo())
    assert height(session) == 0.0


def test_a_rebuild_that_fails_is_no_step_and_leaves_the_history(opened):
    session = opened(SCENE.replace('"rising"', '"rising"\nforbidden = 9'))
    do(session, SetParameter(*COUNT, 5), SetParameter(*COUNT, 9))
    assert session.scene_edits.value(COUNT) == 5 and labels(session) == ["count"]
    do(session, Undo())
    assert session.scene_edits.value(COUNT) == 8 and len(values(session, "row.phase")) == 8


def test_an_undo_that_fails_keeps_values_and_history_and_can_be_repeated(opened, monkeypatch):
    session = opened()
    do(session, SetParameter(*HEIGHT, 1.0), SetParameters({COUNT: 5, HEIGHT: 2.0}, "both"))
    monkeypatch.setattr(Rising, "output_specs", Rising.output_specs)
    original = Rising.__init__

    def fail(self, *arguments):
        raise OutOfMemory("no room")

    monkeypatch.setattr(Rising, "__init__", fail)
    do(session, Undo())
    assert session.messages["history"] == "no room"
    assert (session.scene_edits.value(COUNT), height(session), labels(session)) == (5, 2.0, ["height", "both"])
    monkeypatch.setattr(Rising, "__init__", original)
    do(session, Undo())
    assert (session.scene_edits.value(COUNT), height(session), session.messages) == (8, 1.0, {})
    monkeypatch.setattr(Rising, "__init__", fail)
    do(session, Redo())
    assert (session.scene_edits.value(COUNT), height(session)) == (8, 1.0)


def test_several_values_are_set_together_or_not_at_all(opened):
    session = opened()
    do(session, SetParameters({HEIGHT: 1.0, GLOW: 7.0}, "both"))
    assert (height(session), session.scene_edits.value(GLOW)) == (0.0, 0.0)
    assert "emissive" in session.messages["parameters"]
    do(session, SetParameters({HEIGHT: 1.0, GLOW: 0.7}, "both"))
    assert labels(session) == ["both"] and not session.messages
    do(session, Undo())
    assert (height(session), session.scene_edits.value(GLOW)) == (0.0, 0.0)


def test_several_values_of_one_model_rebuild_it_once(opened):
    session = opened(LINKED)
    built = Rising.built
    do(session, SetParameters({COUNT: 5, HEIGHT: 1.0, Key("models.late", "gain"): 3.0}, "all"))
    assert Rising.built == built + 1
    assert (
        session.scene_edits.value(COUNT),
        height(session),
        session.scene_edits.value(Key("models.late", "gain")),
    ) == (5, 1, 3)
    assert values(session, "late.position").shape == (5, 3)


def test_a_model_that_fails_keeps_the_values_of_the_others(opened):
    text = LINKED.replace('"rising"', '"rising"\nforbidden = 9') + '\n[models.other]\ntype = "rising"\n'
    session = opened(text)
    do(session, SetParameters({Key("models.other", "count"): 4, COUNT: 9}, "both"))
    assert (session.scene_edits.value(Key("models.other", "count")), session.scene_edits.value(COUNT)) == (8, 8)
    assert labels(session) == []


def test_reset_of_one_group_or_all_is_one_step(opened):
    session = opened(sets=["row.height=4.0"])
    do(session, SetParameters({HEIGHT: 1.0, COUNT: 5, GLOW: 0.5}, "all"))
    do(session, ResetParameters((HEIGHT,)))
    assert (height(session), session.scene_edits.value(COUNT)) == (4.0, 5)
    do(session, ResetParameters())
    assert session.scene_edits.differing() == {}
    do(session, Undo())
    assert (height(session), session.scene_edits.value(COUNT), session.scene_edits.value(GLOW)) == (4.0, 5, 0.5)


def test_randomize_is_the_same_for_a_seed_and_within_the_slider(opened):
    session, keys = opened(), (HEIGHT, GLOW, Key("view", "background"), Key("layers.dots", "colormap"))
    found = []
    for seed in (1, 2, 1):
        do(session, Randomize(keys, seed))
        found.append([session.scene_edits.value(key) for key in keys])
    assert found[0] == found[2] and all(a != b for a, b in zip(found[0][:3], found[1][:3], strict=True))
    for seed in range(20):
        do(session, Randomize((GLOW,), seed))
        assert 0.0 <= session.scene_edits.value(GLOW) <= 1.0
    do(session, *[Undo()] * 30)
    assert session.scene_edits.differing() == {}


def test_randomize_reports_a_missing_range(opened):
    session = opened()
    do(session, Randomize((Key("models.row", "wrong_by"),), 1))
    assert "wrong by: there is no range" in session.messages["parameters"]


def test_presets_and_animations_are_undone_too(opened):
    session = opened()
    do(session, SetParameter(*HEIGHT, 2.0), SavePreset("two"))
    do(session, SetParameter(*HEIGHT, 3.0), ApplyPreset("two"))
    assert height(session) == 2.0
    do(session, RenamePreset("two", "zwei"), DeletePreset("zwei"))
    assert session.scene_edits.extras.presets == ()
    do(session, Undo())
    assert [preset.name for preset in session.scene_edits.extras.presets] == ["zwei"]
    do(session, Undo())
    assert [preset.name for preset in session.scene_edits.extras.presets] == ["two"]
    do(session, Undo())
    assert height(session) == 3.0
    moves = Animation(range=(0.0, 1.0))
    do(session, Animate(*HEIGHT, moves))
    assert session.scene_edits.extras.animations == {HEIGHT: moves}
    do(session, Undo())
    assert session.scene_edits.extras.animations == {}
    assert session.parameters()["models.row"].height == 3.0
    do(session, Redo())
    assert session.scene_edits.extras.animations == {HEIGHT: moves}


def test_compare_keeps_both_sides_and_is_undone(opened):
    session = opened()
    do(session, SetParameter(*HEIGHT, 2.0), SwitchSide())
    assert (height(session), session.scene_edits.extras.side) == (0.0, "B")
    do(session, SetParameter(*HEIGHT, 5.0), SetParameter(*GLOW, 0.5), SwitchSide())
    assert (height(session), session.scene_edits.value(GLOW), session.scene_edits.extras.side) == (2.0, 0.0, "A")
    do(session, SwitchSide())
    assert (height(session), session.scene_edits.value(GLOW), session.scene_edits.extras.side) == (5.0, 0.5, "B")
    do(session, Undo())
    assert (height(session), session.scene_edits.extras.side) == (2.0, "A")
    do(session, Undo(), Undo(), Undo())
    assert (height(session), session.scene_edits.extras.side) == (0.0, "B")
    do(session, Undo())
    assert (height(session), session.scene_edits.extras.side) == (2.0, "A")


def test_the_number_of_undo_steps_is_limited(opened):
    session = opened()
    for step in range(MOST + 10):
        session.scene_edits.change({HEIGHT: step / 100}, "step")
    assert len(labels(session)) == MOST
    for _ in range(MOST + 10):
        session.scene_edits.undo()
    assert height(session) == 0.09


def test_another_scene_clears_the_history_and_a_reload_keeps_valid_steps(opened, tmp_path):
    session = opened()
    do(session, SetParameter(*HEIGHT, 2.0), SetParameter(*GLOW, 0.5))
    written(tmp_path, SCENE.split("[layers.dots]")[0])
    do(session, Reload())
    assert labels(session) == ["height"]
    do(session, Reload(written(tmp_path, SCENE, "other.toml")))
    assert labels(session) == []


@pytest.mark.parametrize("seed", range(4))
def test_undo_and_redo_restore_every_state(opened, seed):
    """The state after each step is recorded; undo and redo must restore the same states."""
    session, chance = opened(LINKED), random.Random(seed)
    keys = [HEIGHT, Key("models.late", "gain"), Key("layers.dots", "roughness"), Key("view", "bloom"), COUNT]

    def state() -> tuple:
        extras = session.scene_edits.extras
        return session.scene_edits.values(), extras.presets, dict(extras.animations), extras.side

    states = [state()]
    for _ in range(25):
        key = chance.choice(keys)
        match chance.randrange(7):
            case 0:
                do(session, SavePreset(chance.choice("pq")))
            case 1:
                do(session, ApplyPreset(chance.choice("pq")))
            case 2:
                do(session, SwitchSide())
            case 3:
                do(session, Animate(*HEIGHT, Animation(range=(-1.0, chance.random()))))
            case 4:
                do(session, ResetParameters((key,)))
            case _:
                value = chance.randrange(1, 40) if key == COUNT else round(chance.random(), 3)
                do(session, SetParameter(*key, value))
        if state() != states[-1]:
            states.append(state())
    assert len(states) == len(labels(session)) + 1
    current = len(states) - 1
    for _ in range(60):
        back = chance.random() < 0.6
        do(session, Undo() if back else Redo())
        current = max(current - 1, 0) if back else min(current + 1, len(states) - 1)
        assert state() == states[current]
    do(session, *[Undo()] * len(states))
    assert state() == states[0]
    assert np.isfinite(values(session, "late.position")).all()


def test_a_drag_that_begins_without_a_change_is_not_merged_with_the_previous_step(opened):
    session = opened()
    do(session, SetParameter(*HEIGHT, 1.0, stroke=7))
    do(session, SetParameter(*HEIGHT, 1.0, stroke=8), SetParameter(*HEIGHT, 2.0, stroke=8))
    assert len(labels(session)) == 2
    do(session, Undo())
    assert height(session) == 1.0
