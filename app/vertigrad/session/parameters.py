"""What can be set of a running scene, by owner and name, and how several values are set at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import ParameterError
from ..params import Params, ParamSpec, unknown
from ..renderer.themes import NAMES, THEMED
from ..renderer.view import View, themed_view
from ..scene import Scene
from ..scene.files import find
from ..scene.locate import KeyPath
from ..scene.schema import SETTINGS, ModelSettings, ModelSpec
from ..scene.stage import Stage

MODELS = "models."


class Key(NamedTuple):
    """One parameter; `owner` is "models.NAME", "layers.NAME" (its style) or "view".

    The seed and the substeps of a model are named in the same way: no parameter has their names.
    """

    owner: str
    name: str

    @property
    def path(self) -> KeyPath:
        """Where the scene file has it."""
        return (*self.owner.split("."), self.name)


Values = Mapping[Key, Any]
THEME, QUALITY = Key("view", "theme"), Key("view", "quality")


def is_setting(key: Key) -> bool:
    """Whether it names the seed or the substeps of a model."""
    return key.name in SETTINGS and key.owner.startswith(MODELS)


def settings_of(specs: Mapping[str, ModelSpec]) -> dict[Key, int]:
    """Seeds and substeps of all models."""
    return {Key(f"{MODELS}{name}", kind): getattr(spec, kind) for name, spec in specs.items() for kind in SETTINGS}


def key_at(path: KeyPath) -> Key:
    """The parameter that the scene file has at `path`."""
    *owner, name = map(str, path)
    return Key(".".join(owner), name)


def live(stage: Stage, view: View) -> dict[str, Params]:
    """The parameters in use, by owner."""
    models = {f"{MODELS}{name}": instance.params for name, instance in stage.instances.items()}
    layers = {f"layers.{name}": layer.style for name, layer in stage.layers.items()}
    return {**models, **layers, "view": view}


def as_read(scene: Scene) -> dict[str, Params]:
    """The parameters as file and command line have them, by owner."""
    models = {f"{MODELS}{name}": spec.params for name, spec in scene.models.items()}
    layers = {f"layers.{name}": spec.style for name, spec in scene.layers.items()}
    return {**models, **layers, "view": scene.view}


def each(owners: Mapping[str, Params]) -> Iterator[tuple[Key, ParamSpec, Any]]:
    """Every parameter of every owner, with its value."""
    for owner, params in owners.items():
        for spec in params.specs():
            yield Key(owner, spec.name), spec, getattr(params, spec.name)


def values_of(owners: Mapping[str, Params]) -> dict[Key, Any]:
    """The values of all parameters."""
    return {key: value for key, _, value in each(owners)}


def specs_of(owners: Mapping[str, Params]) -> dict[Key, ParamSpec]:
    """What is known of all parameters."""
    return {key: spec for key, spec, _ in each(owners)}


def file_values(scene: Scene) -> dict[Key, Any]:
    """Parameters, seeds and substeps of file and command line."""
    return values_of(as_read(scene)) | settings_of(scene.models)


def spec_of(owners: Mapping[str, Params], key: Key) -> ParamSpec:
    """What is known of a parameter. Raises `ParameterError` if there is none of that name."""
    if key.owner not in owners:  # a panel may post it in the frame in which another scene is opened
        raise ParameterError(unknown("owner of parameters", key.owner, owners))
    if is_setting(key):
        return next(spec for spec in ModelSettings.specs() if spec.name == key.name)
    found = next((spec for spec in owners[key.owner].specs() if spec.name == key.name), None)
    if found is None:
        names = [spec.name for spec in owners[key.owner].specs()]
        raise ParameterError(f"{key.owner}: {unknown('parameter', key.name, names)}")
    return found


def assign(stage: Stage, owners: Mapping[str, Params], folder: Path, values: Values) -> bool:
    """Set parameters, seeds and substeps, all or none of them; returns whether any is a model's.

    A file may be given as text, as the scene file in `folder` names it. Raises `ParameterError`, and what a model
    raises that is made anew.
    """
    requested: dict[str, dict[str, Any]] = {}
    settings: dict[str, dict[str, int]] = {}
    for key, value in values.items():
        spec = spec_of(owners, key)
        if is_setting(key):
            checked = ModelSettings.parse({key.name: value})
            settings.setdefault(key.owner.removeprefix(MODELS), {})[key.name] = getattr(checked, key.name)
        else:
            requested.setdefault(key.owner, {})[key.name] = _file_found(spec, value, folder)
    changed = {owner: owners[owner].with_values(entries) for owner, entries in requested.items()}
    models = {owner.removeprefix(MODELS): new for owner, new in changed.items() if owner.startswith(MODELS)}
    stage.give(models, settings)
    for owner, new in changed.items():
        if not owner.startswith(MODELS):
            owners[owner].take(new)
    return bool(models or settings)


def with_theme(values: Values, scene: Scene) -> Values:
    """With all values of a theme, if one is chosen; the theme of the scene brings the values of the scene."""
    theme = values.get(THEME)
    if theme not in NAMES:
        return values
    source = scene.view if theme == scene.view.theme else themed_view(theme)
    return {**{Key("view", name): getattr(source, name) for name in THEMED}, **values}


def _file_found(spec: ParamSpec, value: Any, folder: Path) -> Any:
    if spec.kind != "file" or not isinstance(value, str):
        return value
    try:
        return find(value, folder)
    except ParameterError as error:
        raise ParameterError(f"{spec.name}: {error}") from None
