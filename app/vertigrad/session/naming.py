"""How a scene file names things: values, parameters in its tables, and files, also when it moves to another folder."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import InputError, ParameterError
from ..params import Auto, ParamSpec, parse_color
from ..scene import Scene, code, save
from ..scene.files import find
from ..scene.locate import KeyPath
from ..scene.settings import shortest
from .parameters import as_read, each
from .scene_extras import Preset


def plain(spec: ParamSpec, value: Any, folder: Path) -> Any:
    """A parameter's value as a scene file in `folder` has it."""
    if isinstance(value, Auto):
        return "auto"
    if isinstance(value, Path):
        return save.named(value, folder)
    if spec.kind == "color" and isinstance(value, tuple):
        code = "#" + "".join(f"{round(part * 255):02x}" for part in value)
        return code if parse_color(code) == value else list(value)
    return list(value) if isinstance(value, tuple) else value


def spelled(scene: Scene, table: KeyPath, path: KeyPath) -> str:
    """How the file names a parameter in a table of presets or animations, or would."""
    forms = (shortest(path), ".".join(map(str, path)))
    return next((form for form in forms if (*table, form) in scene.source_map.keys), forms[0])


def moved(scene: Scene, presets: Iterable[Preset], folder: Path) -> dict[KeyPath, Any]:
    """The entries that name files of the scene, as a copy of it in another folder has to have them.

    Raises `InputError` if a file is outside of that folder: a scene reads only files of its own.
    """
    found: dict[KeyPath, Any] = {path: _from(folder, file, scene) for path, file in files_of(scene)}
    for name, model in scene.models.items():
        file = code.source(model.kind)
        if file is not None:
            found["models", name, "type"] = f"{_from(folder, file, scene)}:{model.type.rpartition(':')[2]}"
    for preset in presets:
        for key, value in preset.values.items():
            if isinstance(value, Path):
                entry = spelled(scene, ("presets", preset.name), key.path)
                found["presets", preset.name, entry] = _from(folder, value, scene)
    return found


def files_of(scene: Scene) -> Iterator[tuple[KeyPath, Path]]:
    """The entries of models, layers and the view that name files, those in tables of a model's own among them."""
    written = tomllib.loads(scene.source_map.text)
    parameters = {key.path: spec.kind for key, spec, _ in each(as_read(scene))}
    for path in scene.source_map.values:
        value: Any = written
        for part in path:
            value = value[part]
        if (
            isinstance(value, str)
            and path[0] in ("models", "layers", "view")
            and parameters.get(path, "file") == "file"
        ):
            with suppress(ParameterError):
                yield path, find(value, scene.path.parent)


def _from(folder: Path, file: Path, scene: Scene) -> str:
    """What a scene in `folder` calls a file, or the copy of it that is there already. Raises `InputError`."""
    before = save.named(file, scene.path.parent)
    name = save.named(file, folder)
    if not Path(name).is_absolute():
        return name
    try:
        find(before, folder)
        return before
    except ParameterError:
        raise InputError(
            f"{folder}: the scene reads {before} of {scene.path.parent}, and a scene reads only files of its own "
            f"folder; copy that file there first, or save the scene next to it"
        ) from None
