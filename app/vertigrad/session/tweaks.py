"""`Tweaks`: what the user made of the parameters, with a history, presets, two sides to compare, and animations."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import ParameterError
from ..params import Params, same
from ..scene import Animation, Scene
from ..scene.preset_tables import can_be_animated, range_objection
from .animation import value_at
from .history import History, Step
from .parameters import MODELS, Key, Values, as_read, each, spec_of, with_look
from .presets import Kept
from .ranges import can_be_random, is_log, random_value

if TYPE_CHECKING:
    from .session import Session


class Tweaks:
    """Every change of a parameter goes through here, is one step of `history`, and happens whole or not at all.

    `values` are those that count: of an animated parameter, the one it had before it began to move.
    """

    def __init__(self, session: Session):
        self._session = session
        self.history = History()
        self.kept = Kept.of(session.scene)
        self.revision = 0  # goes up with every change, for what is made from the values and kept
        self._rest: dict[Key, Any] = {}  # values of what is animated, while it is at rest
        self._settle(None)

    # values -----------------------------------------------------------------------------------------------------

    def value(self, key: Key) -> Any:
        """The value of a parameter. Raises `ParameterError` if there is none of that name."""
        owners = self._session.parameters()
        spec_of(owners, key)
        return self._rest[key] if key in self._rest else getattr(owners[key.owner], key.name)

    def values(self) -> dict[Key, Any]:
        """All of them."""
        return {key: self._rest.get(key, value) for key, _, value in each(self._session.parameters())}

    def differing(self, others: Mapping[str, Params] | None = None) -> dict[Key, Any]:
        """The values that are not those of `others`; if none are given, of the scene as it was read."""
        others = self._session.originals() if others is None else others
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
        values = self._session.sized(with_look(values, self._session.scene))
        before, kept_before = {key: self.value(key) for key in values}, self.kept
        kept = self.kept.still(values) if kept is None else kept
        self._become(values, kept)
        after = {key: self.value(key) for key in values}
        if kept == kept_before:
            self.history.add(Step(label, before, after), stroke)
        else:
            self.history.add(Step(label, before, after, kept_before, kept), stroke)

    def undo(self) -> None:
        """Take the last step back; nothing if there is none. Raises as `change`; then nothing has changed."""
        if self.history.done:
            step = self.history.done[-1]
            self._become(step.before, step.kept_before or self.kept)
            self.history.move_back()

    def redo(self) -> None:
        """Do again what was undone last; nothing if there is none. Raises as `change`; then nothing has changed."""
        if self.history.undone:
            step = self.history.undone[-1]
            self._become(step.after, step.kept_after or self.kept)
            self.history.move_on()

    def reset(self, keys: Collection[Key]) -> None:
        """Back to what the scene has: values, and whether they move. Raises as `change`."""
        originals, read = self._session.originals(), Kept.of(self._session.scene).animations
        moves = {key: read[key] for key in keys if key in read}
        kept = replace(self.kept, animations={**self.kept.still(keys).animations, **moves})
        values = {key: getattr(originals[key.owner], key.name) for key in keys if key.owner in originals}
        self.change(values, f"reset {named(keys)}", kept)

    def randomise(self, keys: Collection[Key], seed: int) -> None:
        """Random values within the ranges of the sliders. Raises `ParameterError` if none has a range."""
        owners = self._session.parameters()
        values = {}
        for key in keys:
            spec, hint = spec_of(owners, key), self._session.hints(key.owner).get(key.name)
            if can_be_random(spec, hint):
                values[key] = random_value(key, spec, hint, seed)
        if not values:
            raise ParameterError(f"{named(keys)}: there is no range to take a random value from")
        self.change(values, f"randomise {named(keys)}, seed {seed}")

    def animate(self, key: Key, animation: Animation | None, stroke: int | None = None) -> None:
        """Let a number move by itself, or in another way; None: stand still where it is. Raises `ParameterError`."""
        spec = spec_of(self._session.parameters(), key)
        if animation is None:
            now = getattr(self._session.parameters()[key.owner], key.name)
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
            there = {key: value for key, _, value in each(self._session.originals())}
        values = {key: value for key, value in there.items() if key in here and here[key] != value}
        kept = replace(self.kept.still(values), side="B" if self.kept.side == "A" else "A", other=here)
        self.change(values, f"flip to {kept.side}", kept)

    # time, and other scenes -------------------------------------------------------------------------------------

    def move(self, time: float) -> bool:
        """Give the animated parameters their values at `time`; returns whether any of a model changed."""
        if not self.kept.animations:
            return False
        owners, moved = self._session.parameters(), False
        for key, animation in self.kept.animations.items():
            if key.owner not in owners:
                continue
            spec, hint = spec_of(owners, key), self._session.hints(key.owner).get(key.name)
            value = value_at(animation, spec, time, is_log(spec, hint))
            if getattr(owners[key.owner], key.name) != value:
                owners[key.owner].change(key.name, value)
                moved = moved or key.owner.startswith(MODELS)
        return moved

    def scene_read(self, before: Scene | None, values: Values | None = None) -> None:
        """The session's scene was read again, and was `before`; or it is another one.

        Presets and animations come from the file, unless the user changed them. If all was built anew, `values` are
        those before it: what the user had set can be had back by undoing.
        """
        scene, ours = self._session.scene, self.kept
        known = {key for key, *_ in each(self._session.parameters())}
        self.history.forget(known.__contains__ if before else lambda key: False)
        self.kept = Kept.of(scene)
        if before is not None:
            self.kept = self.kept.with_changes(Kept.of(before), ours, scene)
        self.revision += 1
        self._settle(before)
        now = self.values()
        if before is not None and values is not None:
            lost = {key: value for key, value in values.items() if key in now and now[key] != value}
            self.history.add(Step("restart", lost, {key: now[key] for key in lost}))

    def scene_saved(self) -> None:
        """What there is is in the file now, under the names that it has."""
        presets = tuple(replace(preset, origin=preset.name) for preset in self.kept.presets)
        self.kept = replace(self.kept, presets=presets)
        self.revision += 1

    def _settle(self, before: Scene | None) -> None:
        """Note where the animated parameters rest: what the scene has for them, or what the user had set."""
        originals, old = as_read(self._session.scene), as_read(before) if before else {}
        moving = {key: moves for key, moves in self.kept.animations.items() if key.owner in originals}
        self.kept = replace(self.kept, animations=moving)
        rest = {}
        for key in moving:
            kept = key in self._rest and key.owner in old and self._rest[key] != getattr(old[key.owner], key.name)
            rest[key] = self._rest[key] if kept else getattr(originals[key.owner], key.name)
        self._rest = rest

    def _become(self, values: Values, kept: Kept) -> None:
        moving = kept.animations
        rest = {key: values[key] if key in values else self.value(key) for key in moving}
        self._session.assign({key: value for key, value in values.items() if key not in moving})
        self.kept, self._rest = kept, rest
        self.revision += 1
        if self.move(self._session.time):
            self._session.clock.stale = True


def named(keys: Collection[Key]) -> str:
    """A parameter's name, or how many there are."""
    return next(iter(keys)).name.replace("_", " ") if len(keys) == 1 else f"{len(keys)} parameters"
