"""`FileMethods`: scenes and data files in a script's viewer."""

from __future__ import annotations

import re
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..scene import Scene, code, load
from ..scene.locate import KeyPath
from ..scene.packaged import scene_path
from ..scene.viewpoints import BOOKMARKS, KEYFRAMES
from ..session.naming import files_of
from .content import Content
from .layer import LayerHandle


class FileMethods(ABC):
    """Files that are shown next to what the script computes."""

    _content: Content

    @abstractmethod
    def camera(self, **values: Any) -> dict[str, Any]:
        """Place the camera."""

    @abstractmethod
    def view(self, **values: Any) -> dict[str, Any]:
        """Change the view."""

    def load(self, path: str | Path, name: str | None = None) -> dict[str, LayerHandle]:
        """Show a file, all that `vertigrad run` opens: a mesh, splats, points, a volume, a recording, or a scene.

        Returns its layers by the names they have in its scene; "layers" for a data file. In the viewer they are called
        `name`, by default that of the file, alone or followed by their own name; models are followed by it as well. The
        first file that is loaded into a viewer without layers brings its camera and view. What is loaded again under
        the same name is replaced. Raises `SceneError`, `InputError`, and what a model raises; nothing has changed then.
        """
        content = self._content
        content.require_open()
        scene = load(scene_path(str(path)).absolute())
        is_first = not content.layers
        values = tomllib.loads(scene.source_map.text)
        _put_whole_paths(scene, values, content.document.opened)
        named = _Renamed(values, name or re.sub(r"\W", "_", scene.path.stem) or "file")
        with content.document.changing():
            for old, new in named.models.items():
                self._require_free(new)
                spec, table = scene.models[old], named.table("models", old)
                kind = spec.kind if code.PATTERN.fullmatch(spec.type) else spec.type
                content.document.put_model(new, kind, {key: value for key, value in table.items() if key != "type"})
            found = content.add_layers({new: named.table("layers", old) for old, new in named.layers.items()})
        if is_first:
            self.view(**{key: getattr(scene.view, key) for key in scene.view.model_fields_set})
            self.camera(**{key: value for key, value in _table(values, "camera").items() if key not in _VIEWS})
        return {old: found[new] for old, new in named.layers.items()}

    def _require_free(self, name: str) -> None:
        if name in self._content.layers:
            raise InputError(f"{name!r} is the name of a layer in this viewer; pass another name to load")


class _Renamed:
    """The models and layers of a scene with names that begin with `prefix`, and their tables with these names."""

    def __init__(self, values: Mapping[str, Any], prefix: str):
        self._values = values
        prefix = prefix if not prefix[0].isdigit() else f"_{prefix}"
        self.models = {name: f"{prefix}_{name}" for name in _table(values, "models")}
        layers = list(_table(values, "layers"))
        self.layers = {name: prefix if len(layers) == 1 else f"{prefix}_{name}" for name in layers}
        if taken := set(self.models.values()) & set(self.layers.values()):  # one name in both tables
            self.models = {name: f"{new}_model" if new in taken else new for name, new in self.models.items()}

    def table(self, section: str, name: str) -> dict[str, Any]:
        """A table in which outputs have the names of the renamed models."""
        return self._with_outputs(self._values[section][name])

    def _with_outputs(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._with_outputs(inner) for key, inner in value.items()}
        match = re.match(r"([\w-]+)([.:].+)", value) if isinstance(value, str) else None
        return self.models[match[1]] + match[2] if match is not None and match[1] in self.models else value


_VIEWS = (BOOKMARKS, KEYFRAMES)


def _put_whole_paths(scene: Scene, values: dict[str, Any], opened: set[str]) -> None:
    """Name the files in the tables of a scene by their whole paths, which are noted as `opened`."""
    for path, file in files_of(scene):
        opened.add(file.as_posix())
        _put(values, path, file.as_posix())


def _put(values: dict[str, Any], path: KeyPath, value: str) -> None:
    table: Any = values
    for key in path[:-1]:
        table = table[key]
    table[path[-1]] = value


def _table(values: Mapping[str, Any], section: str) -> dict[str, Any]:
    found = values.get(section, {})
    return found if isinstance(found, dict) else {}
