"""`--set galaxy.softening=0.1`: entries of a scene file set by the command line."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any

from ..params import unknown
from .locate import KeyPath, TooDeep, dotted, locate
from .problems import SceneProblems, Setting
from .renamed import renewed_path
from .schema import SECTIONS, Scene

_NAMED = ("models", "layers")  # sections whose first key is a name


def parse(text: str) -> Setting:
    """Parse `galaxy.softening=0.1` to path and value; the path is empty if it cannot be parsed."""
    key, equals, value = text.partition("=")
    path = entry(key)
    return Setting(text, path, _value(value.strip())) if equals and path else Setting(text)


def entry(key: str) -> KeyPath:
    """The entry that `galaxy.softening` names; empty if the text names none."""
    path = _path(key.strip())
    return path if not path or path[0] in SECTIONS else ("models", *path)


def path_in(scene: Scene, text: str) -> KeyPath:
    """The entry of a scene that `galaxy.softening=0.1` sets, by its current name; empty if the text names none."""
    types = {("models", name): spec.type for name, spec in scene.models.items()}
    types |= {("layers", name): spec.type for name, spec in scene.layers.items()}
    return renewed_path(parse(text).path, types)


def shortest(path: KeyPath) -> str:
    """The text for which `entry` returns this path: without "models." where that is optional."""
    short = path[0] == "models" and len(path) > 1 and path[1] not in SECTIONS
    return dotted(path[1:] if short else path)


def apply(settings: Sequence[Setting], values: dict[str, Any], problems: SceneProblems) -> None:
    """Write the settings into the values of a scene file, in order; those that do not fit are reported as problems."""
    for setting in settings:
        objection = _objection(setting, values) or _write(setting, values)
        if objection:
            problems.in_setting(setting, objection)
        else:
            problems.applied(setting)


def without_effect(scene: Scene, texts: Sequence[str]) -> list[tuple[str, str]]:
    """Return the settings without effect on a model, with the reason. All settings must fit the scene."""
    found = []
    for text in texts:
        match path_in(scene, text):
            case ("models", str(name), str(parameter), *_):
                spec = scene.models[name]
                reason = spec.without_effect(spec.params).get(parameter)
                found += [(text, reason)] if reason else []
    return found


def _path(key: str) -> KeyPath:
    try:
        tomllib.loads(f"{key} = 0")
        return max(locate(f"{key} = 0").keys, key=len)
    except (ValueError, TooDeep, RecursionError):
        return ()


def _value(text: str) -> Any:
    """The TOML value, or the text itself if it is not TOML: `--set stars.colormap=inferno` needs no quotes."""
    try:
        parsed = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return parsed["value"] if len(parsed) == 1 else text


def _objection(setting: Setting, values: dict[str, Any]) -> str | None:
    if not setting.path:
        return "expected NAME.PARAMETER=VALUE, such as galaxy.softening=0.1"
    section, *rest = setting.path
    if section == "version" or (not rest and section not in ("title", "description")):
        return f"sets all of {section}; add the name of an entry"
    if section in _NAMED:
        return _name_objection(str(section), str(rest[0]), len(rest) == 1, values)
    return None


def _name_objection(section: str, name: str, alone: bool, values: dict[str, Any]) -> str | None:
    named = values.get(section)
    known = named if isinstance(named, dict) else {}
    layers = values.get("layers")
    if name in known:
        return f"sets all of {section}.{name}; add the name of an entry" if alone else None
    if section == "models" and isinstance(layers, dict) and name in layers:
        return f'unknown model "{name}"; a layer has this name: write layers.{name}'
    return unknown(section.removesuffix("s"), name, known)


def _write(setting: Setting, values: dict[str, Any]) -> str | None:
    table: Any = values
    for depth, part in enumerate(setting.path[:-1], start=1):
        inner = table.setdefault(part, {})
        if not isinstance(inner, dict):
            return f"{dotted(setting.path[:depth])} is not a table"
        table = inner
    table[setting.path[-1]] = setting.value
    return None
