"""`recording_text`: the scene for a recording: that of the run, with the recording instead of its models."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import InputError
from .edit import literal
from .locate import dotted

SECTIONS = ("camera", "view")  # sections that are taken over, besides the layers
MODEL = "recorded"


def recording_text(path: Path) -> str:
    """The scene file for a recording: camera, view, and the layers that draw nothing but what was recorded.

    Raises `InputError` for a recording that cannot be read, and one of which no layer can be drawn.
    """
    from ..models.data.recording import output_name
    from ..models.data.recording_file import open_recording

    recording = open_recording(path)
    recording.close()
    single = len({name.partition(".")[0] for name in recording.tensors}) == 1
    names = {name: f"{MODEL}.{output_name(name, single)}" for name in recording.tensors}
    try:
        scene = tomllib.loads(recording.recorded.scene)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: the scene in it cannot be read ({error})") from error
    models = _tables(scene.get("models"))
    layers = {
        name: _renamed(layer, names)
        for name, layer in _tables(scene.get("layers")).items()
        if not _others(layer, names, models)
    }
    if not layers:
        raise InputError(
            f"{path}: no layer of its scene draws only what was recorded ({', '.join(names)}); write a scene"
        )
    tables = {"models": {MODEL: {"type": "recording", "file": path.name}}, "layers": layers}
    tables |= {key: scene[key] for key in SECTIONS if isinstance(scene.get(key), dict)}
    lines = ["version = 1", f"title = {literal(f'{recording.recorded.title}, recorded')}"]
    return "\n".join([*lines, *_written(tables, ())]) + "\n"


def _tables(found: Any) -> dict[str, dict[str, Any]]:
    return {name: table for name, table in found.items() if isinstance(table, dict)} if isinstance(found, dict) else {}


def _others(layer: Mapping[str, Any], names: Mapping[str, str], models: Mapping[str, Any]) -> bool:
    """Whether a layer reads an output that was not recorded."""
    words = [value for value in layer.values() if isinstance(value, str)]
    return any(word.partition(".")[0] in models and "." in word and word not in names for word in words)


def _renamed(layer: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {key: names.get(value, value) if isinstance(value, str) else value for key, value in layer.items()}


def _written(table: Mapping[str, Any], path: tuple[str, ...]) -> list[str]:
    """The lines of a table: its values, then the tables in it."""
    values = [f"{dotted((key,))} = {literal(value)}" for key, value in table.items() if not isinstance(value, dict)]
    heading = [f"\n[{dotted(path)}]"] if path and (values or not table) else []
    inner = [line for key, value in table.items() if isinstance(value, dict) for line in _written(value, (*path, key))]
    return [*heading, *values, *inner]
