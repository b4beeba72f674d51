"""`Content`: what a script's viewer shows: the document, the session that runs it, layers and controls."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError, ParameterError, SceneError
from ..export import write_layers
from ..gpu import gpu
from ..models import Model
from ..params import Params, unknown
from ..renderer.layers import types as layer_types
from ..session import Session
from ..session.running import SceneSource
from ..tensor import Tensor
from .arrays import INDEX, as_tensor, require_rows
from .checks import checked_text, problems_of
from .data_model import controls_model, data_model
from .document import CONTROLS, Document
from .layer import COLORBAR, LayerHandle, is_data
from .layer_data import LayerData
from .values import plain


class Content:
    """Shared by a viewer and its handles. Every change takes the document over, or leaves all as it was."""

    def __init__(self, title: str):
        self.document = Document(title)
        self.layers: dict[str, LayerHandle] = {}
        self.data: dict[str, LayerData] = {}
        self.closed = False
        self._controls: dict[str, tuple[Any, Any]] = {}
        self._thread = threading.get_ident()
        self._put_controls()
        self.session = Session(gpu(), SceneSource(Path(f"{title}.toml").absolute(), memory=self.document))

    # layers -----------------------------------------------------------------------------------------------------

    def add_layer(self, layer_type: str, name: str, values: Mapping[str, Any]) -> LayerHandle:
        """Add a layer; one of that name is replaced. Raises `InputError`, `DtypeError`."""
        self.require_open()
        checked_text(name, "name")
        if checked_text(layer_type, "type of layer") not in layer_types():
            raise InputError(unknown("type of layer", layer_type, layer_types()))
        if name == CONTROLS:
            raise InputError(f"{name!r} is the name of the viewer's controls; choose another for the layer")
        tensors, created = self._take_over(layer_type, name, values)
        if name in self.data:
            self.data[name].close()
        data = self.data[name] = LayerData()
        data.exchange(tensors, created)
        self.layers[name] = LayerHandle(self, name, layer_type, layer_types()[layer_type], data)
        return self.layers[name]

    def add_layers(self, tables: Mapping[str, Mapping[str, Any]]) -> dict[str, LayerHandle]:
        """Add layers that draw outputs of models, by their tables in a scene; replace those of these names.

        Raises `InputError`.
        """
        self.require_open()
        for name, table in tables.items():
            if name in self.data:
                self.document.remove("models", name)
            self.document.values["layers"][name] = dict(table)
        self.read_again(next(iter(tables), ""))
        for name, table in tables.items():
            if name in self.data:
                self.data[name].close()
            data, kind = LayerData(), table.get("type", "tensor")
            self.data[name], self.layers[name] = data, LayerHandle(self, name, kind, layer_types()[kind], data)
        return {name: self.layers[name] for name in tables}

    def change_layer(self, handle: LayerHandle, values: Mapping[str, Any]) -> None:
        """Give a layer all these values: others of its attributes are constants now. Raises as `add_layer`."""
        self.require_open()
        self.data[handle.name].exchange(*self._take_over(handle.type, handle.name, values))

    def remove(self, name: str) -> None:
        """Take out a layer, or a model. Raises `InputError` if there is none of that name."""
        self.require_open()
        checked_text(name, "name")
        if name == CONTROLS or (name not in self.layers and name not in self.document.values["models"]):
            raise InputError(unknown("layer", name, self.layers))
        with self.document.changing():
            self.document.remove("layers", name)
            self.document.remove("models", name)
            self.read_again(name)
        if name in self.layers:
            del self.layers[name]
            self.data.pop(name).close()

    # models and controls ----------------------------------------------------------------------------------------

    def add_model(self, name: str, kind: type[Model] | str, values: Mapping[str, Any]) -> None:
        """Add a model of a class, or of a type by its name. Raises `InputError`, and what the model raises."""
        self.require_open()
        checked_text(name, "name")
        if name == CONTROLS or name in self.layers:
            raise InputError(f"{name!r} is the name of something else in this viewer; choose another for the model")
        with self.document.changing():
            self.document.put_model(name, kind, {key: plain(value) for key, value in values.items()})
            self.read_again(name)

    def add_control(self, name: str, annotation: Any, field: Any) -> None:
        """Add a parameter of the controls. Raises `InputError`, `ParameterError`."""
        self.require_open()
        if not checked_text(name, "name").isidentifier() or name.startswith("_"):
            raise InputError(f"{name!r} cannot be the name of a control: use letters, digits and underscores")
        if hasattr(Params, name):
            raise InputError(f"{name!r} cannot be the name of a control: controls have that already; choose another")
        before = dict(self._controls)
        self._controls[name] = annotation, field
        try:
            with self.document.changing():
                self._put_controls()
                self.read_again(CONTROLS)
        except BaseException as error:
            self._controls = before
            if isinstance(error, ParameterError):
                raise ParameterError(f"{name}: {error}") from error
            raise

    # all of it --------------------------------------------------------------------------------------------------

    def read_again(self, name: str) -> None:
        """Take over what the document says now. Raises `InputError` that names what does not fit."""
        try:
            self.session.running.read_again()
        except SceneError as error:
            raise InputError(f"{name!r}: {problems_of(error, name)}") from error
        self.withdraw()

    def export(self, path: str | Path, layer: str) -> Path:
        """Write what a layer draws now into a .ply, .obj or .glb. Raises `InputError`."""
        self.require_open()
        write_layers(Path(path), self.session.stage.layers, (layer,), self.session.scene.camera.up)
        return Path(path)

    @contextmanager
    def drawing(self) -> Iterator[None]:
        """For a frame. At other times a script may write into the tensors that are drawn: in place, without a copy."""
        for instance in self.session.stage.instances.values():
            instance.publish()
        self.session.running.changes += 1
        try:
            yield
        finally:
            if not self.closed:
                self.withdraw()

    def withdraw(self) -> None:
        """Let the script write into all tensors that are drawn."""
        for instance in self.session.stage.instances.values():
            instance.publication.withdraw()

    def require_open(self) -> None:
        """Raises `InputError` if the viewer is closed, or if another thread than the one that opened it calls."""
        self.require_thread()
        if self.closed:
            raise InputError("the viewer is closed")

    def require_thread(self) -> None:
        """Raises `InputError` if another thread than the one that opened the viewer calls."""
        if threading.get_ident() != self._thread:
            raise InputError("the viewer belongs to the thread that opened it; call it there, and pass data by a queue")

    def close(self) -> None:
        """Give back the memory."""
        self.closed = True
        self.session.close()
        for data in self.data.values():
            data.close()

    # inside -----------------------------------------------------------------------------------------------------

    def _put_controls(self) -> None:
        self.document.put_model(CONTROLS, controls_model(self._controls))

    def _take_over(self, layer_type: str, name: str, values: Mapping[str, Any]) -> tuple[dict[str, Tensor], set[str]]:
        """Give the layer `name` these values; returns its tensors, and which of them were created for it."""
        layer = layer_types()[layer_type]
        tensors: dict[str, Tensor] = {}
        created: set[str] = set()
        table: dict[str, Any] = {"type": layer_type}
        try:
            for key, value in values.items():
                if key in layer.ATTRIBUTES and is_data(value, layer.ATTRIBUTES[key]):
                    tensors[key], new = as_tensor(value, key, f"{name}.{key}")
                    created |= {key} if new else set()
                    table[key] = f"{name}.{key}"
                else:
                    table[key] = {"title": value} if key == COLORBAR and isinstance(value, str) else plain(value)
            if INDEX in created:
                require_rows(np.asarray(values[INDEX]), tensors, layer.ATTRIBUTES)
            with self.document.changing():
                self.document.remove("models", name)
                if tensors:
                    self.document.put_model(name, data_model(tensors))
                self.document.values["layers"][name] = {key: value for key, value in table.items() if value is not None}
                self.read_again(name)
        except BaseException:
            for key in created:
                tensors[key].close()
            raise
        return tensors, created
