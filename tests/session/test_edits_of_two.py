"""Two edit one scene, a user in the session and another in the file: whatever they do, no edit is lost.

The expected state is computed entry by entry, by an independent merge of the file's and the session's values.
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from vertigrad.gpu import Gpu
from vertigrad.scene import Animation, Scene, load
from vertigrad.scene.edit import edited
from vertigrad.scene.viewpoints import entries
from vertigrad.session import Session
from vertigrad.session.commands import (
    AddBookmark,
    Animate,
    Ask,
    DeleteBookmark,
    DeletePreset,
    Play,
    Redo,
    Reload,
    ResetParameters,
    Save,
    SavePreset,
    SetParameter,
    SetSeed,
    SetSubsteps,
    Undo,
)
from vertigrad.session.parameters import Key, as_read, each, settings_of
from vertigrad.session.scene_extras import SceneExtras

from .running import SCENE, run_frame, use_models, written

Flat = dict[tuple[Any, ...], Any]
HEIGHT, GLOW, EXPOSURE = Key("models.row", "height"), Key("layers.dots", "emissive"), Key("view", "exposure")
PRESET = '\n[presets.both]\n"row.height" = 1.5 # theirs\n"view.exposure" = 0.5\n'
OURS = ("height", "emissive", "reset", "seed", "substeps", "bookmark", "drop", "preset", "delete", "animate", "still")
THEIRS = ("height", "seed", "substeps", "bookmark", "drop", "preset", "value", "delete", "animate", "still")
TOGETHER = ("undo", "redo", "save", "reload", "restart", "overwrite")
NOTHING = object()


def by(who: str, *what: str) -> st.SearchStrategy:
    return st.tuples(st.just(who), st.sampled_from(what), st.integers(0, 3))


MINE, HIS = by("ours", *OURS), by("theirs", *THEIRS)
ROUNDS = st.lists(
    st.one_of(
        st.tuples(MINE, by("together", *TOGETHER)),
        st.tuples(MINE, HIS, by("together", *TOGETHER)),
        st.tuples(MINE, MINE, HIS, HIS, by("together", "reload", "restart")),
        st.tuples(by("ours", "bookmark"), by("theirs", "bookmark"), by("together", "reload", "restart")),
        st.tuples(by("ours", "height"), by("ours", "preset"), by("theirs", "preset"), by("together", "reload")),
    ),
    min_size=4,
    max_size=9,
)


@pytest.mark.turns(3)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ROUNDS)
@example([(("ours", "height", 1), ("theirs", "height", 2), ("together", "reload", 0))])
@example([(("ours", "bookmark", 0), ("theirs", "bookmark", 0), ("together", "reload", 0))])
@example([(("ours", "bookmark", 1), ("together", "save", 0), ("ours", "drop", 1), ("together", "save", 0))])
@example([(("ours", "seed", 1), ("together", "restart", 0), ("together", "undo", 0))])
def test_no_edit_is_lost(steady: Gpu, monkeypatch, rounds):
    use_models(monkeypatch)
    with TemporaryDirectory() as folder, Session(steady, written(Path(folder), SCENE + PRESET)) as session:
        session.post(Play(False))
        run_frame(session)
        play = Both(session)
        for who, what, number in chain.from_iterable(rounds):
            getattr(play, who)(what, number)
            play.check()


class Both:
    """The session, and the expected undo and redo steps."""

    def __init__(self, session: Session):
        self.session = session
        self.path = session.scene.path
        self.done: list[tuple[Flat, Flat]] = []
        self.undone: list[tuple[Flat, Flat]] = []

    @property
    def now(self) -> Flat:
        scene_edits = self.session.scene_edits
        return flat(scene_edits.values() | scene_edits.settings(), scene_edits.extras)

    def check(self) -> None:
        """It is unsaved if and only if it differs from the file when it was read."""
        assert self.session.unsaved == (self.now != of(self.session.scene))
        assert [step.empty for step in self.session.scene_edits.history.done] == [False] * len(self.done)
        assert len(self.session.scene_edits.history.undone) == len(self.undone)

    def do(self, command: Any) -> None:
        self.session.messages.clear()
        self.session.post(command)
        run_frame(self.session)

    # edits of both ----------------------------------------------------------------------------------------------

    def ours(self, what: str, number: int) -> None:
        before = self.now
        self.session.camera.fov = 30.0 + number
        name = ("both", "mine")[number % 2]
        moves = Animation(range=(0.25, (number + 2) / 4))
        commands = {
            "height": SetParameter(*HEIGHT, float(number)),
            "emissive": SetParameter(*GLOW, number / 4),
            "reset": ResetParameters(),
            "seed": SetSeed(number),
            "substeps": SetSubsteps("row", number + 1),
            "bookmark": AddBookmark(name),
            "drop": DeleteBookmark(name),
            "preset": SavePreset(name),
            "delete": DeletePreset(name),
            "animate": Animate(*EXPOSURE, moves),
            "still": Animate(*EXPOSURE, None),
        }
        self.do(commands[what])
        if self.now != before:
            self.done.append((before, self.now))
            self.undone.clear()
        elif not self.session.messages:
            self.undone.clear()

    def theirs(self, what: str, number: int) -> None:
        """Another program edits the file."""
        name = ("both", "his")[number % 2]
        bookmark = ("camera", "bookmarks", name)
        animation = ("animations", "view.exposure")
        camera_values = {"position": [1.0, 2.0, 5.0 + number], "target": [0.0, 0.0, 0.0]}
        changes: dict[str, dict[Any, Any]] = {
            "height": {HEIGHT.path: number + 0.5},
            "seed": {("models", "row", "seed"): number + 10},
            "substeps": {("models", "row", "substeps"): number + 5},
            "bookmark": {(*bookmark, key): value for key, value in camera_values.items()},
            "drop": {bookmark: None},
            "preset": {("presets", name, "row.height"): number + 0.25},
            "value": {("presets", name, "view.exposure"): number + 0.75},
            "delete": {("presets", name): None},
            "animate": {(*animation, "range"): [0.25, number + 2.0]},
            "still": {animation: None},
        }
        text = edited(self.path.read_text(), changes[what])
        self.path.write_text(text)

    def together(self, what: str, number: int) -> None:
        getattr(self, what)()

    # expected results -------------------------------------------------------------------------------------------

    def undo(self) -> None:
        self.walk(Undo(), self.done, self.undone, 1, 0)

    def redo(self) -> None:
        self.walk(Redo(), self.undone, self.done, 0, 1)

    def walk(self, command: Any, source: list, target: list, base: int, goal: int) -> None:
        expected = self.now
        if source:
            step = source.pop()
            target.append(step)
            expected, _ = both(step[base], self.now, step[goal])
        self.do(command)
        assert self.now == expected and not self.session.messages

    def save(self) -> None:
        before, text, unsaved = self.now, self.path.read_text(), self.session.unsaved
        others = text != self.session.scene.source_map.text
        self.do(Save())
        assert self.now == before
        if others:
            assert self.path.read_text() == text and self.session.unsaved == unsaved
            assert self.session.questions.first is not None and self.session.questions.first.about == "changed"
            self.do(Ask(None))
        else:
            assert of(load(self.path)) == before and not self.session.unsaved and self.session.questions.first is None
            assert "# theirs" in self.path.read_text() or ("preset", "both", HEIGHT) not in before or not others

    def overwrite(self) -> None:
        before = self.now
        self.do(Save(overwrite=True))
        assert of(load(self.path)) == self.now == before and not self.session.unsaved

    def reload(self) -> None:
        base, ours, theirs = of(self.session.scene), self.now, of(load(self.path))
        self.do(Reload())
        expected, conflicts = both(base, theirs, ours)
        assert self.now == expected
        assert ("edits" in self.session.messages) == bool(conflicts), conflicts
        for conflict in conflicts:
            assert self.reported(conflict), conflict

    def restart(self) -> None:
        """Values, seeds and substeps are reset to the file; undo restores them. All else is merged."""
        base, ours, theirs = of(self.session.scene), self.now, of(load(self.path))
        self.do(Reload(restart=True))
        merged, conflicts = both(base, theirs, ours)
        expected = {key: value for key, value in merged.items() if key[0] != "value"}
        expected |= {key: value for key, value in theirs.items() if key[0] == "value"}
        assert self.now == expected
        for conflict in conflicts:
            assert conflict[0] == "value" or self.reported(conflict), conflict
        dropped = any(
            ours[key] != base[key] != expected[key] or ours[key] != expected[key] != base[key]
            for key in ours
            if key[0] == "value" and ours[key] != base[key]
        )
        assert not dropped or "Undo restores" in self.session.messages["edits"]
        before = expected | {key: value for key, value in ours.items() if key[0] == "value"}
        self.undone.clear()
        if before != expected:
            self.done.append((before, expected))

    def reported(self, conflict: tuple[Any, ...]) -> bool:
        """Whether it was reported; in a preset that was created again, a conflict concerns the whole preset."""
        message = self.session.messages["edits"]
        whole = conflict[0] == "preset" and f"preset {conflict[1]}: " in message
        return whole or reported(conflict) in message


def flat(values: dict[Key, Any], extras: SceneExtras) -> Flat:
    """One entry for each value that can be edited separately."""
    found: Flat = {("value", key): value for key, value in values.items()}
    found |= {("animation", key): animation for key, animation in extras.animations.items()}
    found |= {("bookmark", name): tuple(entries(camera).items()) for name, camera in extras.bookmarks.items()}
    found |= {("preset", one.name, key): value for one in extras.presets for key, value in one.values.items()}
    return found


def of(scene: Scene) -> Flat:
    """The values of a scene's file."""
    return flat(
        {key: value for key, _, value in each(as_read(scene))} | settings_of(scene.models), SceneExtras.of(scene)
    )


def both(base: Flat, theirs: Flat, ours: Flat) -> tuple[Flat, set[tuple[Any, ...]]]:
    """Both edits merged, and the conflicts. A preset that one side lacks is one entry."""
    found: Flat = {}
    conflicts: set[tuple[Any, ...]] = set()
    for key in base.keys() | theirs.keys() | ours.keys():
        whole = key[:2] if key[0] == "preset" and not (has(theirs, key) and has(ours, key)) else None
        sides = [part(side, whole) if whole else side.get(key, NOTHING) for side in (base, theirs, ours)]
        mine = sides[2] != sides[0]
        if mine and sides[1] not in (sides[0], sides[2]):
            conflicts.add(whole or key)
        value = (ours if mine else theirs).get(key, NOTHING)
        if value is not NOTHING:
            found[key] = value
    return found, conflicts


def part(side: Flat, whole: tuple[Any, ...]) -> Flat:
    return {key: value for key, value in side.items() if key[:2] == whole}


def has(side: Flat, key: tuple[Any, ...]) -> bool:
    return bool(part(side, key[:2]))


def reported(conflict: tuple[Any, ...]) -> str:
    """The start of the message about a conflict."""
    match conflict:
        case ("value", key):
            return f"{'.'.join(key.path)}: "
        case ("animation", key):
            return f"animation of {key.name}: "
        case ("bookmark", name):
            return f"bookmark {name}: "
        case ("preset", name):
            return f"preset {name}: "
        case ("preset", name, key):
            return f"{key.name} in the preset {name}: "
    raise AssertionError(conflict)
