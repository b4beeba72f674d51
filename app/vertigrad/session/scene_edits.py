"""`SceneEdits`: the user's changes of the scene, with undo, presets, bookmarks, A/B sides and animations."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import ParameterError
from ..params import Params, same, unknown
from ..scene import Animation, Scene
from ..scene.inside import models_of, with_inside
from ..scene.preset_tables import can_be_animated, range_objection
from ..scene.schema import LayerSpec
from .edit_checks import impossible_animations, overruled, refused_values
from .merging import MISSING
from .parameters import (
    MODELS,
    Key,
    Values,
    as_read,
    file_values,
    is_setting,
    settings_of,
    spec_of,
    values_of,
    with_theme,
)
from .ranges import can_be_random, is_log, random_value, value_at
from .row_selection import RowState
from .scene_extras import SceneExtras, merge_extras, same_tensors
from .undo import UndoHistory, UndoStep

if TYPE_CHECKING:
    from .running import Running

_revisions = itertools.count()  # of all, so that no two states of a session have the same


class SceneEdits:
    """Every change of what a scene file contains goes through here: one step of `history`, applied completely or not.

    `values` are without animation: of an animated parameter, the value before it was animated. `extras` has all other
    content, `file_extras` that of the file. `revision` changes with every edit, for caches of the values.

    With `before` the same scene is rebuilt: values are the file's, and one undo step restores the earlier ones; all
    else continues, merged with the file. `notes` say what that did to unsaved edits.
    """

    def __init__(self, running: Running, before: SceneEdits | None = None):
        self._running = running
        self.history = UndoHistory()
        known = before.file_extras.presets if before else ()
        self.extras = self.file_extras = SceneExtras.of(running.scene_read, known)
        self.revision = next(_revisions)
        self.notes: list[str] = []
        self._base_values: dict[Key, Any] = {}  # of animated parameters, without animation
        if before is not None:
            extras, conflicts = merge_extras(before.file_extras, self.file_extras, before.extras)
            self.extras = extras.of_models(running.scene_read.models)
            self.notes += map(str, conflicts)
        self._update_base_values(None, {})
        if before is not None:
            self._inherit_history(before)

    # values -----------------------------------------------------------------------------------------------------

    def value(self, key: Key) -> Any:
        """The value of a parameter, a seed or substeps. Raises `ParameterError` if there is none of that name."""
        owners = self._running.parameters()
        spec_of(owners, key)
        if is_setting(key):
            return getattr(self._running.stage.specs[key.owner.removeprefix(MODELS)], key.name)
        return self._base_values[key] if key in self._base_values else getattr(owners[key.owner], key.name)

    def values(self) -> dict[Key, Any]:
        """The values of all parameters."""
        return {key: self._base_values.get(key, value) for key, value in values_of(self._running.parameters()).items()}

    def settings(self) -> dict[Key, int]:
        """Seeds and substeps of all models."""
        return settings_of(self._running.stage.specs)

    def differing(self, others: Mapping[str, Params] | None = None) -> dict[Key, Any]:
        """The values that differ from `others`, by default from the scene as it was read."""
        others = self._running.originals() if others is None else others
        return {
            key: value
            for key, value in self.values().items()
            if key.owner not in others or not same(value, getattr(others[key.owner], key.name))
        }

    # changes ----------------------------------------------------------------------------------------------------

    def change(self, values: Values, label: str, extras: SceneExtras | None = None, stroke: int | None = None) -> None:
        """Set values and extras, as one undo step or part of the step of the same `stroke`.

        Animations of `values` end, unless `extras` has them. Raises `ParameterError` and what a rebuilt model raises;
        then nothing has changed, nor has the history.
        """
        values = self._running.sized(with_theme(values, self._running.scene))
        before, extras_before = {key: self.value(key) for key in values}, self.extras
        extras = self.extras.without_animations(values) if extras is None else extras
        self._assign(values, extras)
        after = {key: self.value(key) for key in values}
        self.history.add(UndoStep(label, before, after, extras_before, extras), stroke)

    def undo(self) -> str:
        """Undo the last step, if there is one. Raises as `change`; then nothing has changed.

        Returns which values could not be restored because they are no longer allowed.
        """
        if not self.history.done:
            return ""
        refused = self._apply_step(self.history.done[-1].reversed)
        self.history.move_back()
        return refused

    def redo(self) -> str:
        """Redo the step that was undone last, as `undo`."""
        if not self.history.undone:
            return ""
        refused = self._apply_step(self.history.undone[-1])
        self.history.move_on()
        return refused

    def reset(self, keys: Collection[Key]) -> None:
        """Reset values and animations to those of the file. Raises as `change`."""
        originals, read = self._running.originals(), SceneExtras.of(self._running.scene_read).animations
        moves = {key: read[key] for key in keys if key in read}
        extras = replace(self.extras, animations={**self.extras.without_animations(keys).animations, **moves})
        values = {key: getattr(originals[key.owner], key.name) for key in keys if key.owner in originals}
        self.change(values, f"reset {label_of(keys)}", extras)

    def randomize(self, keys: Collection[Key], seed: int) -> None:
        """Set random values within the ranges of the sliders. Raises `ParameterError` if none has a range."""
        owners = self._running.parameters()
        values = {}
        for key in keys:
            spec, hint = spec_of(owners, key), self._running.hints(key.owner).get(key.name)
            if can_be_random(spec, hint):
                values[key] = random_value(key, spec, hint, seed)
        if not values:
            raise ParameterError(f"{label_of(keys)}: there is no range to take a random value from")
        self.change(values, f"randomize {label_of(keys)}, seed {seed}")

    def animate(self, key: Key, animation: Animation | None, stroke: int | None = None) -> None:
        """Set the animation of a parameter; None stops it at its current value. Raises `ParameterError`."""
        spec = spec_of(self._running.parameters(), key)
        if animation is None:
            now = getattr(self._running.parameters()[key.owner], key.name)
            self.change({key: now}, f"stop {label_of([key])}")
            return
        if not can_be_animated(spec):
            raise ParameterError(f"{key.name} cannot be animated")
        if objection := range_objection(spec, animation.range):
            raise ParameterError(f"{key.name}: {objection}")
        extras = replace(self.extras, animations={**self.extras.animations, key: animation})
        self.change({key: self.value(key)}, f"animate {label_of([key])}", extras, stroke)

    def change_extras(self, extras: SceneExtras, label: str) -> None:
        """Change what is kept beside the values, and nothing of them."""
        self.change({}, label, extras)

    def change_rows(self, state: RowState, label: str) -> None:
        """Select and hide rows: one step of the history, which the scene's file has nothing of.

        Raises what a layer raises; then nothing has changed.
        """
        before = self._running.rows.state
        if state == before:
            return
        self._running.rows.restore(state)
        self.history.add(UndoStep(label, {}, {}, self.extras, self.extras, before, state))

    def show_tensor(self, *layers: LayerSpec) -> None:
        """Add layers of tensors. Raises what recording their models or binding them raises, and `ParameterError`."""
        self._require_models(*(model for layer in layers for model in models_of(layer)))
        extras = self.extras
        for layer in layers:
            extras = extras.with_tensor(layer)
        self.change_extras(extras, f"show {layers[0].name}")

    def hide_tensor(self, *names: str, changed: Collection[LayerSpec] = ()) -> None:
        """Remove layers of tensors, and replace those that are `changed` by them.

        Undo restores the removed ones with the styles that they have now. Raises `ParameterError`.
        """
        for name in names:
            if name in self.extras.tensors and name in self._running.stage.layers:
                style = self._running.stage.layers[name].style.model_copy()
                self.extras = self.extras.with_tensor(replace(self.extras.tensors[name], style=style))
        extras = self.extras
        for layer in changed:
            extras = extras.with_tensor(layer)
        for name in names:
            extras = extras.without_tensor(name)
        self.change_extras(extras, f"hide {names[0]}")

    def ablate(self, model: str, tensor: str, units: Collection[int]) -> None:
        """Set exactly these units of a tensor to zero. Raises what the model raises if it cannot, `ParameterError`."""
        self._require_models(model)
        self.change_extras(self.extras.with_ablated(model, tensor, units), f"ablate {tensor}")

    def with_tensors(self, scene: Scene) -> Scene:
        """A scene as its file is now, with the layers of tensors and the units set to zero of both sides.

        Layers that are in the file have their styles from there, all others those that are drawn.
        """
        theirs, running = SceneExtras.of(scene, self.file_extras.presets), self._running.stage.layers
        extras, _ = merge_extras(self.file_extras, theirs, self.extras)
        tensors = dict(extras.tensors)
        for name, layer in tensors.items():
            read = theirs.tensors.get(name)
            if read is not None and same_tensors(read, layer):
                tensors[name] = read
            elif name in running:
                tensors[name] = replace(layer, style=running[name].style)
        return with_inside(scene, tensors, extras.ablated)

    def switch_side(self) -> None:
        """Switch between the sides A and B, each of which keeps its values. Raises as `change`."""
        here, there = self.values(), self.extras.other
        if there is None:
            there = values_of(self._running.originals())
        values = {key: value for key, value in there.items() if key in here and here[key] != value}
        extras = replace(
            self.extras.without_animations(values), side="B" if self.extras.side == "A" else "A", other=here
        )
        self.change(values, f"flip to {extras.side}", extras)

    # time, and other scenes -------------------------------------------------------------------------------------

    def apply_animations(self, time: float) -> bool:
        """Set the animated parameters to their values at `time`; returns whether one of a model changed."""
        if not self.extras.animations:
            return False
        owners, moved = self._running.parameters(), False
        for key, animation in self.extras.animations.items():
            if key.owner not in owners:
                continue
            spec, hint = spec_of(owners, key), self._running.hints(key.owner).get(key.name)
            value = value_at(animation, spec, time, is_log(spec, hint))
            if getattr(owners[key.owner], key.name) != value:
                owners[key.owner].change(key.name, value)
                moved = moved or key.owner.startswith(MODELS)
        return moved

    def suspend_animations(self) -> None:
        """Set the animated parameters to their values without animation, until `apply_animations`."""
        owners = self._running.parameters()
        for key, value in self._base_values.items():
            if key.owner in owners:
                owners[key.owner].change(key.name, value)

    def scene_read(self, before: Scene, ours: Values) -> None:
        """The scene's file, which was `before`, was read again; `ours` are the values and settings until then.

        The user's changes stay, all else is the file's. `notes` say what conflicts, and which changes could not stay.
        """
        theirs = SceneExtras.of(self._running.scene_read, self.file_extras.presets)
        extras, conflicts = merge_extras(self.file_extras, theirs, self.extras)
        self.extras = extras.of_models(self._running.scene_read.models)
        self.file_extras = theirs
        self.history = self.history.known_only(self._known())
        self.revision = next(_revisions)
        notes = [*map(str, conflicts), *self._update_base_values(before, ours)]
        self.apply_animations(self._running.clock.time)
        self.notes = notes + overruled(before, self._running.scene, ours, self.values() | self.settings())

    def continue_from(self, before: SceneEdits) -> None:
        """Take over values, history and all else of `before`, whose scene was rebuilt unchanged."""
        values = values_of(before._running.parameters())
        self._running.assign(values | before.settings())
        self.extras, self.file_extras, self.history = before.extras, before.file_extras, before.history
        self._base_values = dict(before._base_values)
        self._running.scene_read = before._running.scene_read
        self.revision = next(_revisions)
        self.notes.clear()

    def scene_saved(self) -> None:
        """The scene was saved: the file has all edits."""
        self.file_extras = SceneExtras.of(self._running.scene_read, self.extras.presets)
        self.revision = next(_revisions)

    # inside -----------------------------------------------------------------------------------------------------

    def _require_models(self, *names: str) -> None:
        models = self._running.scene.models
        for name in names:
            if name not in models:
                raise ParameterError(unknown("model", name, models))

    def _known(self) -> Callable[[object], bool]:
        return {*self.values(), *self.settings()}.__contains__

    def _inherit_history(self, before: SceneEdits) -> None:
        """Take over the history of `before`, with a step that restores its values."""
        now, old = self.values() | self.settings(), before.values() | before.settings()
        lost = {key: value for key, value in old.items() if key in now and now[key] != value}
        self.history = before.history.known_only(self._known())
        self.history.add(UndoStep("restart", lost, {key: now[key] for key in lost}, self.extras, self.extras))
        read = file_values(before._running.scene)
        edited = [key for key, value in old.items() if key in lost and not same(value, read.get(key, MISSING))]
        if edited:
            self.notes.append(f"{label_of(edited)}: reset to the file; Undo restores the edited values")

    def _update_base_values(self, before: Scene | None, ours: Values) -> list[str]:
        """Set the values of animated parameters without animation: the file's, or those the user had set.

        Animations that are not possible end; returns notes on them.
        """
        originals, old = as_read(self._running.scene), as_read(before) if before else {}
        owners = self._running.parameters()
        impossible = impossible_animations(self._running.originals(), self.extras.animations)
        self.extras = self.extras.without_animations(impossible)
        base_values = {}
        for key in self.extras.animations:
            was, now = getattr(old.get(key.owner), key.name, MISSING), ours.get(key, MISSING)
            edited = MISSING not in (was, now) and not same(now, was) and not refused_values(owners, {key: now})
            base_values[key] = now if edited else getattr(originals[key.owner], key.name)
        self._base_values = base_values
        return [f"{key.name} is no longer animated: {objection}" for key, objection in impossible.items()]

    def _apply_step(self, step: UndoStep) -> str:
        """Set the values that come after a step, and apply its change of extras.

        Returns which values were refused: a limit may be tighter than when a value was set.
        """
        values, extras = step.after, self.extras
        if step.extras_after != step.extras_before:
            extras = merge_extras(step.extras_before, extras, step.extras_after)[0]
        impossible = impossible_animations(self._running.originals(), extras.animations)
        extras = extras.without_animations(impossible)
        if step.rows_after is not None:
            self._running.rows.restore(step.rows_after)
        try:
            self._assign(values, extras)
        except ParameterError:
            refused = refused_values(self._running.parameters(), values)
            if not refused:
                raise
            self._assign({key: value for key, value in values.items() if key not in refused}, extras)
            impossible |= refused
        return "; ".join(f"{key.name} stays as it is: {why}" for key, why in impossible.items())

    def _assign(self, values: Values, extras: SceneExtras) -> None:
        before = self.extras
        inside, inside_before = ((one.tensors, one.ablated) for one in (extras, before))
        if inside != inside_before:
            self._running.show_tensors(*inside)
        try:
            self._assign_values(values, extras)
        except BaseException:
            if inside != inside_before:
                self._running.show_tensors(*inside_before)
            raise
        self.extras = extras
        self.revision = next(_revisions)
        if self.apply_animations(self._running.clock.time):
            self._running.clock.stale = True

    def _assign_values(self, values: Values, extras: SceneExtras) -> None:
        moving = extras.animations
        base_values = {key: values[key] if key in values else self.value(key) for key in moving}
        self._running.assign({key: value for key, value in values.items() if key not in moving})
        self._base_values = base_values


def label_of(keys: Collection[Key]) -> str:
    """A parameter's name, or how many there are."""
    return next(iter(keys)).name.replace("_", " ") if len(keys) == 1 else f"{len(keys)} parameters"
