"""Writes what a script's viewer shows as a scene file, with the arrays in an .npz beside it."""

from __future__ import annotations

import inspect
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tomlkit

from ..atomic_file import write_file
from ..errors import InputError
from ..models import Model, registry
from ..params import Params
from ..renderer.camera import OrbitCamera
from ..renderer.themes import CUSTOM
from ..renderer.view import themed_view
from ..scene import OutputRef, code, load, trust
from ..scene.files import find
from ..scene.save import named
from ..scene.schema import MODEL_KEYS, VERSION, ModelSpec
from ..scene.viewpoints import BOOKMARKS, KEYFRAMES, entries
from ..session import Session
from ..session.naming import plain
from ..session.parameters import Key, specs_of
from .data_model import DataModel
from .document import CONTROLS
from .layer import COLORBAR


class SceneWriter:
    """The tables of a scene file in `folder` that shows what a session shows, and the `arrays` that it names."""

    def __init__(self, session: Session, document: Mapping[str, Any], path: Path):
        self.arrays: dict[str, np.ndarray] = {}
        self.code: list[Path] = []  # Python files that the scene runs
        self._session, self._document, self._path = session, document, path
        self._folder, self._array_file = path.parent, path.with_suffix(".npz")
        self._models: dict[str, Any] = {}
        self._reasons: dict[str, str] = {}  # why models cannot be written, by name

    def text(self) -> str:
        """The scene file. Raises `InputError` that names every layer that cannot be written, and why."""
        for name, spec in self._session.scene.models.items():
            if name != CONTROLS and not issubclass(spec.kind, DataModel):
                self._write_model(spec)
        layers = {name: self._layer(name) for name in self._session.scene.layers}
        self._require_all()
        if not self._models:
            raise InputError(f"{self._path.name}: there is nothing to save: a scene needs a model or an array")
        tables = {
            "version": VERSION,
            "title": self._session.scene.title,
            "camera": self._camera(),
            "models": self._models,
            "layers": layers,
            "view": self._view(),
            "presets": self._presets(layers),
            "animations": self._animations(layers),
        }
        return tomlkit.dumps({key: table for key, table in tables.items() if table != {}})

    def array_bytes(self) -> bytes:
        """The .npz file of the arrays."""
        written = io.BytesIO()
        np.savez(written, **self.arrays)  # pyright: ignore[reportArgumentType]
        return written.getvalue()

    # tables -----------------------------------------------------------------------------------------------------

    def _camera(self) -> dict[str, Any]:
        camera = self._session.cameras.heading
        extras = self._session.scene_edits.extras
        bookmarks = {name: _camera_table(view) for name, view in extras.bookmarks.items()}
        keyframes = {str(frame): _camera_table(view) for frame, view in extras.keyframes.items()}
        named = {BOOKMARKS: bookmarks, KEYFRAMES: keyframes}
        return _camera_table(camera) | {"up": camera.up} | {key: table for key, table in named.items() if table}

    def _presets(self, layers: Mapping[str, Any]) -> dict[str, Any]:
        """Those of the window, without values of what the file does not have, such as controls."""
        found: dict[str, Any] = {}
        specs = specs_of(self._session.parameters())
        for preset in self._session.scene_edits.extras.presets:
            table = {
                _path_text(key): _listed(plain(specs[key], value, self._folder))
                for key, value in preset.values.items()
                if key in specs and self._is_written(key, layers)
            }
            if table:
                found[preset.name] = table
        return found

    def _animations(self, layers: Mapping[str, Any]) -> dict[str, Any]:
        """Those of the window, with the values that are not the defaults."""
        return {
            _path_text(key): self._changed(animation)
            for key, animation in self._session.scene_edits.extras.animations.items()
            if self._is_written(key, layers)
        }

    def _is_written(self, key: Key, layers: Mapping[str, Any]) -> bool:
        section, *rest = key.path
        tables: Mapping[str, Any] = {"models": self._models, "layers": layers}.get(str(section), {})
        return section == "view" or (bool(rest) and rest[0] in tables)

    def _view(self) -> dict[str, Any]:
        view = self._session.view
        changed = self._changed(view, themed_view(view.theme))
        return ({"theme": view.theme} if view.theme != CUSTOM else {}) | changed

    def _write_model(self, spec: ModelSpec) -> None:
        instance, table = self._session.stage.instances[spec.name], self._document["models"][spec.name]
        try:
            written = {"type": self._type(spec)}
            written |= self._changed(instance.params)
        except InputError as error:
            self._reasons[spec.name] = str(error)
            return
        settings = {"seed": instance.spec.seed, "substeps": instance.substeps}
        written |= {key: value for key, value in settings.items() if value != {"seed": 0, "substeps": 1}[key]}
        known = {*MODEL_KEYS, *type(instance.params).model_fields}
        others = {key: value for key, value in table.items() if key not in known or key in ("inputs", "ui")}
        self._models[spec.name] = written | others

    def _type(self, spec: ModelSpec) -> str:
        """The type of a model as the scene names it. Raises `InputError` if it has no name there."""
        match = code.PATTERN.fullmatch(spec.type)
        if match is not None:
            file, kind = find(match[1], self._session.scene.path.parent), match[2]
        elif not spec.type.startswith("script."):
            return spec.type
        elif (built_in := _built_in(spec.kind)) is not None:
            return built_in
        else:
            file, kind = _file_of(spec.kind), spec.kind.__name__
        name = named(file, self._folder)
        if Path(name).is_absolute():
            raise InputError(f"{file} is outside of {self._folder}, and a scene reads only files of its own folder")
        self.code.append(file)
        return f"{name}:{kind}"

    def _layer(self, name: str) -> dict[str, Any]:
        spec, layer = self._session.scene.layers[name], self._session.stage.layers[name]
        table: dict[str, Any] = {"type": spec.type}
        for key, source in spec.attributes.items():
            if not isinstance(source, OutputRef):
                table[key] = _listed(source)
            elif source.model == name and issubclass(self._session.scene.models[name].kind, DataModel):
                table[key] = self._array(name, key)
            else:
                table[key] = source.text
        table |= self._changed(layer.style)
        legend = self._document["layers"][name].get(COLORBAR)
        return table | ({COLORBAR: legend} if legend is not None else {})

    def _array(self, layer: str, key: str) -> str:
        """Keep the tensor of a layer as an array; returns its name as an output."""
        array = self._session.stage.instances[layer].outputs[key].numpy()
        model = f"{layer}_{key}"
        while model in self._models or model in self._session.scene.models:
            model += "_"
        self.arrays[model] = array
        table = {"type": "array", "file": self._array_file.name, "name": model}
        self._models[model] = table | (
            {"dtype": "u32"} if array.dtype.kind == "u" and array.dtype.itemsize == 4 else {}
        )
        return f"{model}.values"

    def _changed(self, params: Params, base: Params | None = None) -> dict[str, Any]:
        """The values that are not the defaults, or those of `base`."""
        found = {}
        for spec in params.specs():
            value = getattr(params, spec.name)
            if value is not None and value != (getattr(base, spec.name) if base else spec.default):
                found[spec.name] = _listed(plain(spec, value, self._folder))
        return found

    def _require_all(self) -> None:
        """Raise `InputError` if something was not written, or is drawn from such a thing."""
        if not self._reasons:
            return
        lines = []
        for name, reason in self._reasons.items():
            drawn = [
                layer
                for layer, spec in self._session.scene.layers.items()
                if any(isinstance(source, OutputRef) and source.model == name for source in spec.attributes.values())
            ]
            lines.append(f"{', '.join(drawn) or 'no layer'} (drawn from the model {name}): {reason}")
        raise InputError(f"{self._path.name}: these layers cannot be said in a scene file:\n" + "\n".join(lines))


def save(session: Session, document: Mapping[str, Any], path: Path, overwrite: bool) -> None:
    """Write the scene file, and its arrays beside it. Raises `InputError`; then no scene file is written."""
    path = path.absolute()
    if path.suffix.lower() != ".toml":
        raise InputError(f"{path.name}: the name of a scene file ends in .toml")
    writer = SceneWriter(session, document, path)
    text, arrays = writer.text(), path.with_suffix(".npz")
    for file in (path, *([arrays] if writer.arrays else [])):
        if file.exists() and not overwrite:
            raise InputError(f"{file} exists already; pass overwrite=True to replace it")
    if writer.arrays:
        write_file(arrays, writer.array_bytes())
    trust.allow(writer.code)  # the script runs it already
    load(path, text=text)
    write_file(path, text.encode())


def _built_in(kind: type[Model]) -> str | None:
    name = kind.__module__.rpartition(".")[2]
    return name if registry.types().get(name) is kind else None


def _file_of(kind: type[Model]) -> Path:
    """The Python file that a scene can name for a class. Raises `InputError`."""
    source = inspect.getsourcefile(kind) if kind.__module__ != "__main__" else None
    if source is None or not Path(source).is_file():
        raise InputError(f"{kind.__name__} is defined in the script; define it in a Python file of its own")
    return Path(source)


def _path_text(key: Key) -> str:
    return ".".join(map(str, key.path))


def _camera_table(camera: OrbitCamera) -> dict[str, Any]:
    return {key: _listed(value) for key, value in entries(camera).items()}


def _listed(value: Any) -> Any:
    return [_listed(one) for one in value] if isinstance(value, tuple | list) else value
