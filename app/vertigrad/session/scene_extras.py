"""`SceneExtras`: presets, animations, bookmarks, tensors that are shown and so on: all but parameters' values."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..errors import ParameterError
from ..params import same, shown, unknown
from ..renderer.camera import OrbitCamera
from ..scene import Animation, Scene
from ..scene.inside import Ablated, ablated_units, layers_of_models, tensor_layers
from ..scene.schema import LayerSpec
from ..scene.tables import name_objection
from ..scene.viewpoints import LAST_FRAME, entries, marked
from .merging import MISSING, Conflict, merged, merged_value
from .parameters import Key, Values, key_at

Side = Literal["A", "B"]

_numbers = itertools.count()


@dataclass(frozen=True)
class Preset:
    """Named values. `number` identifies it when it is renamed, saved, or read again."""

    name: str
    values: Values
    number: int = field(default_factory=_numbers.__next__)


@dataclass(frozen=True)
class SceneExtras:
    """Presets in order, animations by parameter, bookmarks by name, keyframes, and the values of the `other` side.

    `tensors` are the layers of tensors by name, `ablated` the units that are set to zero, by model and tensor.
    Immutable: a change returns a new one, so that the undo history can hold it.
    """

    presets: tuple[Preset, ...] = ()
    animations: Mapping[Key, Animation] = field(default_factory=dict)
    bookmarks: Mapping[str, OrbitCamera] = field(default_factory=dict)
    side: Side = "A"
    other: Values | None = None  # None: as in the file
    keyframes: Mapping[int, OrbitCamera] = field(default_factory=dict)  # of the camera, by frame, in their order
    tensors: Mapping[str, LayerSpec] = field(default_factory=dict)
    ablated: Ablated = field(default_factory=dict)

    @classmethod
    def of(cls, scene: Scene, known: Iterable[Preset] = ()) -> SceneExtras:
        """Those of the scene's file; presets with the names of `known` ones get their numbers."""
        numbers = {preset.name: preset.number for preset in known}
        presets = []
        for name, values in scene.presets.items():
            by_key = {key_at(path): value for path, value in values.items()}
            presets.append(Preset(name, by_key, numbers[name]) if name in numbers else Preset(name, by_key))
        return cls(
            tuple(presets),
            {key_at(path): animation for path, animation in scene.animations.items()},
            {name: marked(scene, bookmark) for name, bookmark in scene.bookmarks.items()},
            keyframes={frame: marked(scene, bookmark) for frame, bookmark in scene.keyframes.items()},
            tensors=tensor_layers(scene),
            ablated=ablated_units(scene),
        )

    # presets ----------------------------------------------------------------------------------------------------

    def preset(self, name: str) -> Preset:
        """The preset of this name. Raises `ParameterError`."""
        found = next((preset for preset in self.presets if preset.name == name), None)
        if found is None:
            raise ParameterError(unknown("preset", name, [preset.name for preset in self.presets]))
        return found

    def with_preset(self, name: str, values: Values) -> SceneExtras:
        """With `values` under a name: of a preset that there is, or of a new one. Raises `ParameterError`."""
        if objection := name_objection("preset", name):
            raise ParameterError(objection)
        if not values:
            raise ParameterError("a preset saves the values that differ from the file, and none do now")
        if all(preset.name != name for preset in self.presets):
            return replace(self, presets=(*self.presets, Preset(name, values)))
        return self._replaced(name, lambda preset: replace(preset, values=values))

    def renamed(self, name: str, other: str) -> SceneExtras:
        """With another name for a preset. Raises `ParameterError`."""
        self.preset(name)
        if objection := name_objection("preset", other):
            raise ParameterError(objection)
        if other != name and any(preset.name == other for preset in self.presets):
            raise ParameterError(f"a preset {shown(other)} already exists")
        return self._replaced(name, lambda preset: replace(preset, name=other))

    def without_preset(self, name: str) -> SceneExtras:
        """Without a preset. Raises `ParameterError`."""
        self.preset(name)
        return replace(self, presets=tuple(preset for preset in self.presets if preset.name != name))

    # animations -------------------------------------------------------------------------------------------------

    def without_animations(self, keys: Iterable[Key]) -> SceneExtras:
        """Without animations of these parameters."""
        keys = set(keys)
        if keys.isdisjoint(self.animations):
            return self
        return replace(self, animations={key: moves for key, moves in self.animations.items() if key not in keys})

    # bookmarks --------------------------------------------------------------------------------------------------

    def bookmark(self, name: str) -> OrbitCamera:
        """The view of this name. Raises `ParameterError` if there is none."""
        if name not in self.bookmarks:
            raise ParameterError(unknown("bookmark", name, self.bookmarks))
        return self.bookmarks[name]

    def with_bookmark(self, name: str, camera: OrbitCamera) -> SceneExtras:
        """With this view under a name, in place of another of that name. Raises `ParameterError`."""
        if objection := name_objection("bookmark", name):
            raise ParameterError(objection)
        return replace(self, bookmarks={**self.bookmarks, name: OrbitCamera(**vars(camera))})

    def without_bookmark(self, name: str) -> SceneExtras:
        """Without the view of this name. Raises `ParameterError` if there is none."""
        self.bookmark(name)
        return replace(self, bookmarks={key: camera for key, camera in self.bookmarks.items() if key != name})

    # keyframes --------------------------------------------------------------------------------------------------

    def keyframe(self, frame: int) -> OrbitCamera:
        """The view of the keyframe at a frame. Raises `ParameterError` if there is none."""
        if frame not in self.keyframes:
            raise ParameterError(f"there is no camera keyframe at frame {frame:,}")
        return self.keyframes[frame]

    def with_keyframe(self, frame: int, camera: OrbitCamera) -> SceneExtras:
        """With this view at a frame, in place of another one there. Raises `ParameterError` for a frame below 0."""
        if not 0 <= frame <= LAST_FRAME:
            raise ParameterError(f"a camera keyframe is at a frame from 0 to {LAST_FRAME:,}, not at {frame:,}")
        keyframes = {**self.keyframes, frame: OrbitCamera(**vars(camera))}
        return replace(self, keyframes=dict(sorted(keyframes.items())))

    def without_keyframe(self, frame: int) -> SceneExtras:
        """Without the keyframe at a frame. Raises `ParameterError` if there is none."""
        self.keyframe(frame)
        return replace(self, keyframes={key: camera for key, camera in self.keyframes.items() if key != frame})

    def with_keyframe_moved(self, frame: int, to: int) -> SceneExtras:
        """With a keyframe at another frame, in place of one that is there. Raises `ParameterError`."""
        camera = self.keyframe(frame)
        return self.without_keyframe(frame).with_keyframe(to, camera)

    # tensors ----------------------------------------------------------------------------------------------------

    def with_tensor(self, layer: LayerSpec) -> SceneExtras:
        """With a layer of a tensor, in place of another of its name."""
        return replace(self, tensors={**self.tensors, layer.name: layer})

    def without_tensor(self, name: str) -> SceneExtras:
        """Without a layer of a tensor, and animations of it. Raises `ParameterError` if there is none."""
        if name not in self.tensors:
            raise ParameterError(unknown("layer of a tensor", name, self.tensors))
        rest = replace(self, tensors={key: layer for key, layer in self.tensors.items() if key != name})
        return rest.without_animations([key for key in self.animations if key.owner == f"layers.{name}"])

    def of_models(self, models: Collection[str]) -> SceneExtras:
        """Without layers of tensors, and units set to zero, of other models."""
        ablated = {key: units for key, units in self.ablated.items() if key[0] in models}
        return replace(self, tensors=layers_of_models(self.tensors, models), ablated=ablated)

    def with_ablated(self, model: str, tensor: str, units: Iterable[int]) -> SceneExtras:
        """With exactly these units of a tensor set to zero."""
        rest = {key: value for key, value in self.ablated.items() if key != (model, tensor)}
        found = tuple(sorted({*units}))
        return replace(self, ablated={**rest, (model, tensor): found} if found else rest)

    def _replaced(self, name: str, change: Callable[[Preset], Preset]) -> SceneExtras:
        return replace(
            self, presets=tuple(change(preset) if preset.name == name else preset for preset in self.presets)
        )


def merge_extras(base: SceneExtras, theirs: SceneExtras, ours: SceneExtras) -> tuple[SceneExtras, list[Conflict]]:
    """Merge the changes of both sides to `base`. Where both changed one thing, ours is taken, with a conflict."""
    if theirs in (base, ours):
        return ours, []
    theirs = _paired(base, theirs, ours)
    by_number = ({preset.number: preset for preset in side.presets} for side in (base, theirs, ours))
    presets, conflicts = _merged_presets(*by_number)
    animations, moved = merged(base.animations, theirs.animations, ours.animations)
    bookmarks, marked_twice = merged(base.bookmarks, theirs.bookmarks, ours.bookmarks, same_view)
    conflicts += [_conflict(f"animation of {key.name}", key, theirs.animations, ours.animations) for key in moved]
    conflicts += [_conflict(f"bookmark {name}", name, theirs.bookmarks, ours.bookmarks) for name in marked_twice]
    (side, other), _ = merged_value((base.side, base.other), (theirs.side, theirs.other), (ours.side, ours.other))
    keyframes, keyed_twice = merged(base.keyframes, theirs.keyframes, ours.keyframes, same_view)
    conflicts += [_conflict(f"keyframe {frame}", frame, theirs.keyframes, ours.keyframes) for frame in keyed_twice]
    keyframes = dict(sorted(keyframes.items()))
    tensors, drawn_twice = merged(base.tensors, theirs.tensors, ours.tensors, same_tensors)
    conflicts += [Conflict(f"layer {name}", *_layer_words(name, ours, theirs)) for name in drawn_twice]
    ablated, cut_twice = merged(base.ablated, theirs.ablated, ours.ablated)
    conflicts += [_conflict(f"units of {key[1]}", key, theirs.ablated, ours.ablated) for key in cut_twice]
    return SceneExtras(presets, animations, bookmarks, side, other, keyframes, tensors, ablated), conflicts


def same_view(one: OrbitCamera, other: OrbitCamera) -> bool:
    """Whether both views are the same in a scene file."""
    return one == other or entries(one) == entries(other)


def same_tensors(one: LayerSpec, other: LayerSpec) -> bool:
    """Whether both layers draw the same tensors; their styles are parameters."""
    return dict(one.attributes) == dict(other.attributes)


def _layer_words(name: str, *sides: SceneExtras) -> list[str]:
    return ["changed" if name in side.tensors else "removed" for side in sides]


def _conflict(name: str, key: Any, theirs: Mapping[Any, Any], ours: Mapping[Any, Any]) -> Conflict:
    return Conflict(name, ours.get(key, MISSING), theirs.get(key, MISSING))


def _paired(base: SceneExtras, theirs: SceneExtras, ours: SceneExtras) -> SceneExtras:
    """`theirs`, where a preset that both sides added under one name has one number."""
    known = {preset.number for preset in base.presets}
    added = {preset.name: preset.number for preset in ours.presets if preset.number not in known}
    presets = [
        replace(preset, number=added[preset.name]) if preset.number not in known and preset.name in added else preset
        for preset in theirs.presets
    ]
    return replace(theirs, presets=tuple(presets))


def _merged_presets(
    base: Mapping[int, Preset], theirs: Mapping[int, Preset], ours: Mapping[int, Preset]
) -> tuple[tuple[Preset, ...], list[Conflict]]:
    found: dict[int, Preset] = {}
    conflicts: list[Conflict] = []
    for number in {**ours, **theirs}:
        before, there, here = (side.get(number) for side in (base, theirs, ours))
        if here is not None and there is not None:
            found[number], inner = _merged_preset(before, there, here)
            conflicts += inner
            continue
        whole, conflict = merged_value(before or MISSING, there or MISSING, here or MISSING)
        if conflict:
            name = (here or there or before).name  # pyright: ignore[reportOptionalMemberAccess]
            words = ["deleted" if side is None else "changed" for side in (here, there)]
            conflicts.append(Conflict(f"preset {name}", *words))
        if whole is not MISSING:
            found[number] = whole
    return _with_unique_names(found, ours), conflicts


def _merged_preset(base: Preset | None, theirs: Preset, ours: Preset) -> tuple[Preset, list[Conflict]]:
    """A preset that both sides have, value by value."""
    old = MISSING if base is None else base.name
    name, renamed = merged_value(old, theirs.name, ours.name)
    values, twice = merged({} if base is None else base.values, theirs.values, ours.values, same)
    conflicts = [Conflict(f"name of the preset {text}", ours.name, theirs.name) for text in [old] if renamed]
    conflicts += [_conflict(f"{key.name} in the preset {name}", key, theirs.values, ours.values) for key in twice]
    return Preset(name, values, ours.number), conflicts


def _with_unique_names(found: Mapping[int, Preset], ours: Mapping[int, Preset]) -> tuple[Preset, ...]:
    """In their order. A name that is ours stays; another preset of that name gets a number behind it."""
    taken = {preset.name for number, preset in found.items() if number in ours and preset.name == ours[number].name}
    presets = []
    for number, preset in found.items():
        if number not in ours or preset.name != ours[number].name:
            names = itertools.chain([preset.name], (f"{preset.name} {count}" for count in itertools.count(2)))
            preset = replace(preset, name=next(name for name in names if name not in taken))
        taken.add(preset.name)
        presets.append(preset)
    return tuple(presets)
