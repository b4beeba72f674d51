"""Named sets of values, and the two sides that A/B flips between."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from ..errors import ParameterError
from ..params import shown, unknown
from ..scene import Animation, Scene
from ..scene.preset_tables import name_objection
from .parameters import Key, Values, key_at

Side = Literal["A", "B"]


@dataclass(frozen=True)
class Preset:
    """Values under a name. `origin` is the name that it has in the scene's file; None if it is not in it yet."""

    name: str
    values: Values
    origin: str | None = None


@dataclass(frozen=True)
class Kept:
    """What belongs to the parameters beside their values: presets, animations, and the values of the `other` side."""

    presets: tuple[Preset, ...] = ()
    animations: Mapping[Key, Animation] = field(default_factory=dict)
    side: Side = "A"
    other: Values | None = None  # None: as the scene is

    @classmethod
    def of(cls, scene: Scene) -> Kept:
        """As the scene's file has it."""
        presets = (
            Preset(name, {key_at(path): value for path, value in values.items()}, name)
            for name, values in scene.presets.items()
        )
        return cls(tuple(presets), {key_at(path): animation for path, animation in scene.animations.items()})

    def with_changes(self, before: Kept, after: Kept, scene: Scene) -> Kept:
        """With what the user changed from `before` to `after`, in place of what `scene`, of which this is, says."""
        presets, animations = self.presets, self.animations
        if after.presets != before.presets:
            presets = tuple(
                replace(preset, origin=preset.origin if preset.origin in scene.presets else None)
                for preset in after.presets
            )
        if after.animations != before.animations:
            animations = after.animations
        return replace(after, presets=presets, animations=animations)

    def preset(self, name: str) -> Preset:
        """The preset of this name. Raises `ParameterError`."""
        found = next((preset for preset in self.presets if preset.name == name), None)
        if found is None:
            raise ParameterError(unknown("preset", name, [preset.name for preset in self.presets]))
        return found

    def with_preset(self, name: str, values: Values) -> Kept:
        """With `values` under a name: of a preset that there is, or of a new one. Raises `ParameterError`."""
        if objection := name_objection(name):
            raise ParameterError(objection)
        if not values:
            raise ParameterError("a preset holds what differs from the scene, and nothing does now")
        if all(preset.name != name for preset in self.presets):
            return replace(self, presets=(*self.presets, Preset(name, values)))
        return self._replaced(name, lambda preset: replace(preset, values=values))

    def renamed(self, name: str, other: str) -> Kept:
        """With another name for a preset. Raises `ParameterError`."""
        self.preset(name)
        if objection := name_objection(other):
            raise ParameterError(objection)
        if other != name and any(preset.name == other for preset in self.presets):
            raise ParameterError(f"there is a preset {shown(other)} already")
        return self._replaced(name, lambda preset: replace(preset, name=other))

    def without_preset(self, name: str) -> Kept:
        """Without a preset. Raises `ParameterError`."""
        self.preset(name)
        return replace(self, presets=tuple(preset for preset in self.presets if preset.name != name))

    def with_animation(self, key: Key, animation: Animation) -> Kept:
        """With a parameter moving so."""
        return replace(self, animations={**self.animations, key: animation})

    def still(self, keys: Iterable[Key]) -> Kept:
        """Without animations of these parameters."""
        keys = set(keys)
        if keys.isdisjoint(self.animations):
            return self
        return replace(self, animations={key: moves for key, moves in self.animations.items() if key not in keys})

    def _replaced(self, name: str, change: Callable[[Preset], Preset]) -> Kept:
        return replace(
            self, presets=tuple(change(preset) if preset.name == name else preset for preset in self.presets)
        )
