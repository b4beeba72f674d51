"""Old names in scene files: what is called otherwise now is read as if the file had the new names.

The text is changed before anything else looks at it, so that saving, reloading and messages know only new names.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any

from .locate import KeyPath, TooDeep, locate

Names = Mapping[str, str]  # old ones and new ones
Types = Mapping[tuple[str, str], str]  # of the models and layers of a scene: ("models", "galaxy") is of type "nbody"

PARAMETERS: Mapping[tuple[str, str], Names] = {  # by section and type
    ("models", "cloth"): {"centre": "center", "wind_centre": "wind_center", "obstacle_centre": "obstacle_center"},
    ("models", "nbody"): {"pericentre": "pericenter"},
    ("models", "nbody_far"): {"pericentre": "pericenter"},
    ("models", "smoke"): {"lift": "buoyancy", "fading": "dissipation", "sway": "jitter"},
    ("models", "train"): {"optimiser": "optimizer"},
    ("models", "wind"): {"centre": "center"},
    ("layers", "image"): {"centre": "center"},
}
CHOICES: Mapping[tuple[str, str, str], Names] = {  # by section, type and parameter
    ("models", "lattice_boltzmann", "collision"): {"regularised": "regularized"},
}
DETAILS: Names = {"soft_min": "slider_min", "soft_max": "slider_max"}  # of a parameter of a model of type "wgsl"
OUTPUTS: Mapping[str, Names] = {"flock": {"neighbours": "neighbors"}}  # by type of model

_TABLES = (DETAILS, *PARAMETERS.values(), *CHOICES.values(), *OUTPUTS.values())
_OLD = re.compile("|".join({old for names in _TABLES for old in names}))
_PARAMETER = re.compile(r"""(?:(models|layers)\.)?(["']?)([^"']+)\2\.(\w+)""")  # as a preset's key: galaxy.softening


def renewed(text: str) -> str:
    """`text` with new names; as it is if it has no old ones, or is no TOML."""
    if not _OLD.search(text):
        return text
    try:
        types, places = types_of(tomllib.loads(text)), locate(text)
    except (ValueError, RecursionError, TooDeep):
        return text
    changes: list[tuple[int, int, str]] = []
    for path, start, end in places.parts:
        if (new_path := renewed_path(path, types)) != path:
            quote = text[start] if text[start] in "\"'" else ""
            changes.append((start, end, f"{quote}{new_path[-1]}{quote}"))
    for path, (start, end) in places.values.items():
        quote, value = text[start], text[start + 1 : end - 1]
        if quote in "\"'" and (new := _value(path, value, types)) != value:
            changes.append((start, end, f"{quote}{new}{quote}"))
    for start, end, new in sorted(changes, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def renewed_path(path: KeyPath, types: Types) -> KeyPath:
    """The path of a key by its new name."""
    match path:
        case ("models" | "layers" as section, str(name), str(key)) | (
            "models" | "layers" as section,
            str(name),
            "ui",
            str(key),
        ):
            return (*path[:-1], PARAMETERS.get((section, types.get((section, name), "")), {}).get(key, key))
        case ("models", str(name), "params", _, str(key)) if types.get(("models", name)) == "wgsl":
            return (*path[:-1], DETAILS.get(key, key))
        case ("presets", _, str(key)) | ("animations", str(key)) if named := _parameter(key):
            (*_, new) = renewed_path(named, types)
            return (*path[:-1], key.removesuffix(named[2]) + str(new))
    return path


def types_of(values: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    """The types of the models and layers in a scene's values."""
    found = {}
    for section in ("models", "layers"):
        tables = values.get(section)
        for name, table in tables.items() if isinstance(tables, dict) else ():
            if isinstance(table, dict) and isinstance(table.get("type"), str):
                found[section, name] = table["type"]
    return found


def _value(path: KeyPath, text: str, types: Types) -> str:
    """A string by its new name: an output, or a choice."""
    model, dot, output = text.partition(".")
    if output in (names := OUTPUTS.get(types.get(("models", model), ""), {})):
        return model + dot + names[output]
    match path:
        case ("presets", _, str(key)):
            path = _parameter(key) or path
    match path:
        case (str(section), str(name), str(key)):
            return CHOICES.get((section, types.get((section, name), ""), key), {}).get(text, text)
    return text


def _parameter(key: str) -> tuple[str, str, str] | None:
    """The path of the parameter that a preset's key names: `galaxy.softening`, or `layers.stars.size`."""
    named = _PARAMETER.fullmatch(key)
    return (named[1] or "models", named[3], named[4]) if named else None
