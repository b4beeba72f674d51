"""`Tweaks`: what the user made of the scene, with a history, presets, bookmarks, A and B, and animations."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import ParameterError
from ..params import Params, accept, same
from ..scene import Animation, Scene
from ..scene.preset_tables import can_be_animated, range_objection
from .animation import value_at
from .history import History, Step
from .kept import Kept, merged_kept
from .merging import MISSING, Conflict, text_of
from .parameters import MODELS, Key, Values, as_read, each, is_setting, settings_of, spec_of, with_look
from .ranges import can_be_random, is_log, random_value

if TYPE_CHECKING:
    from .running import Running

_revisions = itertools.count()  # of all, so that no two states of a session have the same


class Tweaks:
    """Every change of what a scene file holds goes through here, is one step of `history`, and happens whole or not.

    `values` are those that count: of an animated parameter, the one it had before it began to move. `kept` is what
    there is beside them, `filed` what of that the file has. `revision` is another one after every change, for what is
    made from the values and cached.

    With `before` the same scene is built anew: values are the file's then, and one step of the history brings back
    those before; all else goes on, merged with what the file has now. `notes` say what that did to unsaved edits.
    """

    def __init__(self, running: Running, before: Tweaks | None = None):
        self._running = running
        self.history = History()
        self.kept = self.filed = Kept.of(running.scene, before.filed.presets if before else ())
        self.revision = next(_revisions)
        self.notes: list[str] = []
        self._rest: dict[Key, Any] = {}  # values of what is animated, while it is at rest
        if before is not None:
            self.kept, conflicts = merged_kept(before.filed, self.filed, before.kept)
            self.notes += map(str, conflicts)
        self._settle(None, {})
        if before is not None:
            self._follow(before)

    # values -----------------------------------------------------------------------------------------------------

    def value(self, key: Key) -> Any:
        """The value of a parameter, a seed or substeps. Raises `ParameterError` if there is none of that name."""
        owners = self._running.parameters()
        spec_of(owners, key)
        if is_setting(key):
            return getattr(self._running.stage.specs[key.owner.removeprefix(MODELS)], key.name)
        return self._rest[key] if key in self._rest else getattr(owners[key.owner], key.name)

    def values(self) -> dict[Key, Any]:
        """Those of all parameters."""
        return {key: self._rest.get(key, value) for key, _, value in each(self._running.parameters())}

    def settings(self) -> dict[Key, int]:
        """Seeds and substeps of all models."""
        return settings_of(self._running.stage.specs)

    def differing(self, others: Mapping[str, Params] | None = None) -> dict[Key, Any]:
        """The values that are not those of `others`; if none are given, of the scene as it was read."""
        others = self._running.originals() if others is None else others
        return {
            key: value
            for key, value in self.values().items()
            if key.owner not in others or not same(value, getattr(others[key.owner], key.name))
        }

    # changes ----------------------------------------------------------------------------------------------------

    def change(self, values: Values, label: str, kept: Kept | None = None, stroke: int | None = None) -> None:
        """Set values, and what is kept beside them; one step of the history, or part of the step of the same `stroke`.

        What was animated among `values` stands still, unless `kept` says otherwise. Raises `ParameterError` and what a
        model raises that is made anew; then nothing has changed, the history neither.
        """
        values = self._running.sized(with_look(values, self._running.scene))
        before, kept_before = {key: self.value(key) for key in values}, self.kept
        kept = self.kept.still(values) if kept is None else kept
        self._become(values, kept)
        after = {key: self.value(key) for key in values}
        if kept == kept_before:
            self.history.add(Step(label, before, after), stroke)
        else:
            self.history.add(Step(label, before, after, kept_before, kept), stroke)

    def undo(self) -> str:
        """Take the last step back; nothing if there is none. Raises as `change`; then nothing has changed.

        Returns what of it could not be: values that are no longer allowed stay as they are.
        """
        if not self.history.done:
            return ""
        step = self.history.done[-1]
        refused = self._walk(step.before, step.kept_after, step.kept_before)
        self.history.move_back()
        return refused

    def redo(self) -> str:
        """Do again what was undone last, as `undo`."""
        if not self.history.undone:
            return ""
        step = self.history.undone[-1]
        refused = self._walk(step.after, step.kept_before, step.kept_after)
        self.history.move_on()
        return refused

    def reset(self, keys: Collection[Key]) -> None:
        """Back to what the scene has: values, and whether they move. Raises as `change`."""
        originals, read = self._running.originals(), Kept.of(self._running.scene).animations
        moves = {key: read[key] for key in keys if key in read}
        kept = replace(self.kept, animations={**self.kept.still(keys).animations, **moves})
        values = {key: getattr(originals[key.owner], key.name) for key in keys if key.owner in originals}
        self.change(values, f"reset {named(keys)}", kept)

    def randomize(self, keys: Collection[Key], seed: int) -> None:
        """Random values within the ranges of the sliders. Raises `ParameterError` if none has a range."""
        owners = self._running.parameters()
        values = {}
        for key in keys:
            spec, hint = spec_of(owners, key), self._running.hints(key.owner).get(key.name)
            if can_be_random(spec, hint):
                values[key] = random_value(key, spec, hint, seed)
        if not values:
            raise ParameterError(f"{named(keys)}: there is no range to take a random value from")
        self.change(values, f"randomize {named(keys)}, seed {seed}")

    def animate(self, key: Key, animation: Animation | None, stroke: int | None = None) -> None:
        """Let a number move by itself, or in another way; None: stand still where it is. Raises `ParameterError`."""
        spec = spec_of(self._running.parameters(), key)
        if animation is None:
            now = getattr(self._running.parameters()[key.owner], key.name)
            self.change({key: now}, f"stop {named([key])}")
            return
        if not can_be_animated(spec):
            raise ParameterError(f"{key.name} cannot be animated")
        if objection := range_objection(spec, animation.range):
            raise ParameterError(f"{key.name}: {objection}")
        kept = self.kept.with_animation(key, animation)
        self.change({key: self.value(key)}, f"animate {named([key])}", kept, stroke)

    def keep(self, kept: Kept, label: str) -> None:
        """Change what is kept beside the values, and nothing of them."""
        self.change({}, label, kept)

    def apply_preset(self, name: str) -> None:
        """Set the values of a preset. Raises as `change`."""
        self.change(self.kept.preset(name).values, f"preset {name}")

    def flip(self) -> None:
        """Go to the other side of A and B, which keeps the values that it was left with. Raises as `change`."""
        here, there = self.values(), self.kept.other
        if there is None:
            there = {key: value for key, _, value in each(self._running.originals())}
        values = {key: value for key, value in there.items() if key in here and here[key] != value}
        kept = replace(self.kept.still(values), side="B" if self.kept.side == "A" else "A", other=here)
        self.change(values, f"flip to {kept.side}", kept)

    # time, and other scenes -------------------------------------------------------------------------------------

    def move(self, time: float) -> bool:
        """Give the animated parameters their values at `time`; returns whether any of a model changed."""
        if not self.kept.animations:
            return False
        owners, moved = self._running.parameters(), False
        for key, animation in self.kept.animations.items():
            if key.owner not in owners:
                continue
            spec, hint = spec_of(owners, key), self._running.hints(key.owner).get(key.name)
            value = value_at(animation, spec, time, is_log(spec, hint))
            if getattr(owners[key.owner], key.name) != value:
                owners[key.owner].change(key.name, value)
                moved = moved or key.owner.startswith(MODELS)
        return moved

    def rest(self) -> None:
        """Give the animated parameters the values that count, until `move`."""
        owners = self._running.parameters()
        for key, value in self._rest.items():
            if key.owner in owners:
                owners[key.owner].change(key.name, value)

    def scene_read(self, before: Scene, ours: Values) -> list[str]:
        """The scene's file, which was `before`, was read again; `ours` are the values and settings until then.

        What the user changed stays, all else is the file's. Returns what of the user's could not stay, and where the
        file says otherwise.
        """
        theirs = Kept.of(self._running.scene, self.filed.presets)
        self.kept, conflicts = merged_kept(self.filed, theirs, self.kept)
        self.filed = theirs
        self.history = self.history.known_only(self._known())
        self.revision = next(_revisions)
        notes = [*map(str, conflicts), *self._settle(before, ours)]
        self.move(self._running.clock.time)
        return notes + self._overruled(before, ours)

    def go_on_as(self, before: Tweaks) -> None:
        """Have the values, the history and all else of `before`, whose scene was built again as it was."""
        values = {key: value for key, _, value in each(before._running.parameters())}
        self._running.assign(values | before.settings())
        self.kept, self.filed, self.history = before.kept, before.filed, before.history
        self._rest = dict(before._rest)
        self.revision = next(_revisions)
        self.notes.clear()

    def scene_saved(self) -> None:
        """What there is is in the file now."""
        self.filed = Kept.of(self._running.scene, self.kept.presets)
        self.revision = next(_revisions)

    # inside -----------------------------------------------------------------------------------------------------

    def _known(self) -> Callable[[object], bool]:
        return {*self.values(), *self.settings()}.__contains__

    def _follow(self, before: Tweaks) -> None:
        """Go on with the history of `before`; a last step brings back its values."""
        now, old = self.values() | self.settings(), before.values() | before.settings()
        lost = {key: value for key, value in old.items() if key in now and now[key] != value}
        self.history = before.history.known_only(self._known())
        self.history.add(Step("restart", lost, {key: now[key] for key in lost}))
        read = _as_filed(before._running.scene)
        edited = [key for key, value in old.items() if key in lost and not same(value, read.get(key, MISSING))]
        if edited:
            self.notes.append(f"{named(edited)}: as in the file again; Undo brings back what was set by hand")

    def _overruled(self, before: Scene, ours: Values) -> list[str]:
        """What became of values that the user had changed, where the file has them otherwise now, or no longer."""
        base, theirs = _as_filed(before), _as_filed(self._running.scene)
        now = self.values() | self.settings()
        notes = []
        for key, value in ours.items():
            if same(value, base.get(key, MISSING)):
                continue
            name, there = ".".join(map(str, key.path)), theirs.get(key, MISSING)
            if key not in now:
                notes.append(f"{name}: was {text_of(value)} here, and is gone from the file")
            elif not same(now[key], value):
                notes.append(f"{name}: {text_of(value)} is no longer allowed; it is {text_of(now[key])}")
            elif not same(there, base.get(key, MISSING)) and not same(there, value):
                notes.append(str(Conflict(name, value, there)))
        return notes

    def _settle(self, before: Scene | None, ours: Values) -> list[str]:
        """Note where the animated parameters rest: what the scene has for them, or what the user had set.

        What cannot be animated as it is to be, stands still; returns what that is.
        """
        originals, old = as_read(self._running.scene), as_read(before) if before else {}
        objections = {key: self._objection(key, animation) for key, animation in self.kept.animations.items()}
        unfit = {key: objection for key, objection in objections.items() if objection}
        self.kept = self.kept.still(unfit)
        rest = {}
        for key in self.kept.animations:
            was, now = getattr(old.get(key.owner), key.name, MISSING), ours.get(key, MISSING)
            edited = MISSING not in (was, now) and not same(now, was) and not self._refused({key: now})
            rest[key] = now if edited else getattr(originals[key.owner], key.name)
        self._rest = rest
        return [f"{key.name} is no longer animated: {objection}" for key, objection in unfit.items()]

    def _objection(self, key: Key, animation: Animation) -> str:
        """Why a parameter cannot move so; empty if it can."""
        try:
            spec = spec_of(self._running.originals(), key)
        except ParameterError as error:
            return str(error)
        return range_objection(spec, animation.range) if can_be_animated(spec) else "it cannot be"

    def _walk(self, values: Values, base: Kept | None, goal: Kept | None) -> str:
        """Set `values`, and make of what is kept what a step from `base` to `goal` makes of it.

        Returns what was refused: a limit may be tighter than when a value was set.
        """
        kept = self.kept if base is None or goal is None else merged_kept(base, self.kept, goal)[0]
        unfit = {key: why for key, animation in kept.animations.items() if (why := self._objection(key, animation))}
        kept = kept.still(unfit)
        try:
            self._become(values, kept)
        except ParameterError:
            refused = self._refused(values)
            if not refused:
                raise
            self._become({key: value for key, value in values.items() if key not in refused}, kept)
            unfit |= refused
        return "; ".join(f"{key.name} stays as it is: {why}" for key, why in unfit.items())

    def _refused(self, values: Values) -> dict[Key, str]:
        """Those that their parameters do not accept, each by itself or all of one owner together, and why."""
        owners, refused = self._running.parameters(), dict[Key, str]()
        fitting: dict[str, dict[str, Any]] = {}
        for key, value in values.items():
            try:
                accepted = accept(spec_of(owners, key), value)
                if not is_setting(key):
                    fitting.setdefault(key.owner, {})[key.name] = accepted
            except ParameterError as error:
                refused[key] = str(error)
        for owner, accepted in fitting.items():
            try:
                owners[owner].with_values(accepted)
            except ParameterError as error:
                refused |= {Key(owner, name): str(error) for name in accepted}
        return refused

    def _become(self, values: Values, kept: Kept) -> None:
        moving = kept.animations
        rest = {key: values[key] if key in values else self.value(key) for key in moving}
        self._running.assign({key: value for key, value in values.items() if key not in moving})
        self.kept, self._rest = kept, rest
        self.revision = next(_revisions)
        if self.move(self._running.clock.time):
            self._running.clock.stale = True


def named(keys: Collection[Key]) -> str:
    """A parameter's name, or how many there are."""
    return next(iter(keys)).name.replace("_", " ") if len(keys) == 1 else f"{len(keys)} parameters"


def _as_filed(scene: Scene) -> dict[Key, Any]:
    """Parameters, seeds and substeps as file and command line have them."""
    return {key: value for key, _, value in each(as_read(scene))} | settings_of(scene.models)
