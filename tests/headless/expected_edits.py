"""The scene of the soak test, and the expected parameters after edits, undo, saving and reloads."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vertigrad.session.parameters import Key
from vertigrad.session.undo import MOST

Values = dict[Key, Any]

SCENE = """
version = 1
title = "Soak"

[models.row]
type = "rising"
count = 24
height = 0.5

[models.echo]
type = "scaled"
inputs = { source = "row.position" }
gain = 2.0

[models.galaxy]
type = "nbody"
seed = 3
substeps = 1
count = 32
softening = 0.12

[layers.dots]
type = "points"
position = "row.position"
emissive = 0.1

[layers.echoes]
type = "points"
position = "echo.position"
emissive = 0.2

[layers.stars]
type = "points"
position = "galaxy.star_position"
emissive = 0.05

[view]
exposure = 1.0
bloom = 0.0
text_size = 16.0
axes = false
scale_bar = false
"""


class ExpectedEdits:
    """`values` are current, `filed` are those of the file; `done` and `undone` are steps of (before, after)."""

    def __init__(self, filed: Values):
        self.filed, self.values = dict(filed), dict(filed)
        self.done: list[tuple[Values, Values]] = []
        self.undone: list[tuple[Values, Values]] = []

    @property
    def unsaved(self) -> Values:
        """The values that differ from the file."""
        return {key: value for key, value in self.values.items() if value != self.filed[key]}

    def edit(self, changes: Mapping[Key, Any]) -> None:
        """Set values, as one step."""
        before, after = {key: self.values[key] for key in changes}, dict(changes)
        self.undone.clear()
        if before != after:
            self.done.append((before, after))
            del self.done[:-MOST]
        self.values |= after

    def undo(self) -> None:
        """Undo the last step."""
        if self.done:
            self.undone.append(self.done.pop())
            self.values |= self.undone[-1][0]

    def redo(self) -> None:
        """Redo the step that was undone last."""
        if self.undone:
            self.done.append(self.undone.pop())
            self.values |= self.done[-1][1]

    def save(self) -> None:
        """The file now has every value."""
        self.filed = dict(self.values)

    def file_edited(self, key: Key, value: Any) -> None:
        """The file was reloaded with another value: it is used unless the user set one that is unsaved."""
        if self.values[key] == self.filed[key]:
            self.values[key] = value
        self.filed[key] = value

    def restart(self) -> None:
        """Reset all values to the file, as one step."""
        self.edit({key: value for key, value in self.filed.items() if value != self.values[key]})


def write_value(file: Path, key: Key, value: Any) -> None:
    """Set a value in a scene's file as a text editor would."""
    text = file.read_text(encoding="utf-8")
    table, entry = re.escape(f"[{key.owner}]"), re.escape(key.name)
    changed, times = re.subn(rf"({table}\n(?:[^\[\n].*\n)*?{entry} = ).*", rf"\g<1>{repr(value).lower()}", text)
    assert times == 1, (key, text)
    file.write_text(changed, encoding="utf-8")


def filed_values(file: Path) -> dict[Key, Any]:
    """Every value that a scene's file has for models, layers and view, as TOML reads it."""
    scene = tomllib.loads(file.read_text(encoding="utf-8"))
    owners = {f"{kind}.{name}": table for kind in ("models", "layers") for name, table in scene[kind].items()}
    return {
        Key(owner, name): value
        for owner, table in {**owners, "view": scene["view"]}.items()
        for name, value in table.items()
        if isinstance(value, int | float)
    }
