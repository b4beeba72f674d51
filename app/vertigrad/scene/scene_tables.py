"""The text of a scene that is written for a data file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .locate import dotted

Tables = dict[str, dict[str, Any]]  # by header, such as "layers.points"

FOLDER_FILE = "zarr.json"  # that describes its folder


def scene_of(path: Path, position: Sequence[float], tables: Tables, fov: int = 36, up: str = "y") -> str:
    """A scene of these tables with the file's title, seen from `position` and framed; `fov` in degrees."""
    camera: dict[str, Any] = {"position": position, "target": (0.0, 0.0, 0.0), "fov": fov, "fit": True}
    camera |= {"up": up} if up != "y" else {}
    return written(path.parent.stem if path.name == FOLDER_FILE else path.stem, {"camera": camera, **tables})


def written(title: str, tables: Tables) -> str:
    """A scene of these tables."""
    parts = [_lines({"version": 1, "title": title})]
    return "\n".join(parts + [f"[{header}]\n{_lines(table)}" for header, table in tables.items()])


def outputs(model: str, names: Iterable[str]) -> dict[str, str]:
    """Attributes of a layer that are bound to the outputs of the same names."""
    return {name: f"{model}.{name}" for name in names}


def background(color: str, **more: float) -> Tables:
    """The view of a scene with this background."""
    return {"view": {"background": color, **more}}


def _lines(table: Mapping[str, Any]) -> str:
    return "".join(f"{key} = {_literal(value)}\n" for key, value in table.items())


def _literal(value: Any) -> str:
    """A value in TOML: that of JSON, except for tables."""
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{dotted((key,))} = {_literal(inner)}' for key, inner in value.items())} }}"
    return json.dumps(value, ensure_ascii=False)
