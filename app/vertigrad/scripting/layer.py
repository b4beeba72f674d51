"""`LayerHandle`: a layer that a script added, and the tensors it draws."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, VertigradError
from ..params import unknown
from ..renderer.layers import AttributeSpec, Layer
from ..session.parameters import Key
from ..tensor import Tensor
from .arrays import as_array, as_tensor
from .data_model import DataModel

if TYPE_CHECKING:
    from .viewer import Viewer


class LayerHandle:
    """A layer of a viewer. Its attributes are the tensors that it draws, and its style.

    `cloud.position` is a `Tensor`: write into it (`cloud.position += velocity * dt`) and the next frame draws it from
    its own GPU buffer. Assigning an array of the same shape uploads it into that tensor, one of another shape or a
    `Tensor` takes its place. `cloud.size = 0.1` changes a constant or a parameter of the style. Assigning raises
    `InputError` with the name of what does not fit; all is as before then.
    """

    name: str
    type: str

    def __init__(self, viewer: Viewer, name: str, kind: str, layer: type[Layer]):
        own = {"_viewer": viewer, "name": name, "type": kind, "_layer": layer}
        own |= {"_tensors": dict[str, Tensor](), "_created": set[str]()}  # created: uploaded for this layer
        self.__dict__.update(own)

    def __getattr__(self, key: str) -> Any:
        if key.startswith("_"):
            raise AttributeError(key)
        if key in self._tensors:
            return self._tensors[key]
        if key in self._layer.ATTRIBUTES:
            return self._viewer.session.scene.layers[self.name].attributes.get(key)
        if key in self._layer.Style.model_fields:
            return getattr(self._viewer.session.stage.layers[self.name].style, key)
        raise AttributeError(f"{self.type} {self.name!r}: {unknown('attribute', key, self._names())}")

    def __setattr__(self, key: str, value: Any) -> None:
        self.set(**{key: value})

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._names()]

    def set(self, **values: Any) -> None:
        """Change attributes and style, one after the other. Raises `InputError`, `DtypeError`, `ParameterError`."""
        for key, value in values.items():
            if key in self._layer.Style.model_fields:
                self._viewer.session.running.assign({Key(f"layers.{self.name}", key): value})
            elif key not in self._layer.ATTRIBUTES:
                raise InputError(f"{self.type} {self.name!r}: {unknown('attribute', key, self._names())}")
            elif key in self._tensors and is_data(value, self._layer.ATTRIBUTES[key]):
                self._replace(key, value)
            else:
                self._viewer.put_layer(self.type, self.name, {**self._values(), key: value}, self)

    def save(self, path: str | Path) -> Path:
        """Write what the layer draws now as .ply, .obj or .glb; waits for the GPU.

        Raises `InputError` for another suffix, for images and volumes, and if the file cannot be written.
        """
        return self._viewer.export(path, self.name)

    def remove(self) -> None:
        """Take the layer out of the viewer. Tensors that the script passed stay its own."""
        self._viewer.remove(self.name)

    def __repr__(self) -> str:
        drawn = ", ".join(f"{key}: {tensor.dtype} {tensor.shape}" for key, tensor in self._tensors.items())
        return f"LayerHandle({self.type} {self.name!r}, {drawn})"

    # for the viewer ---------------------------------------------------------------------------------------------

    def take(self, tensors: dict[str, Tensor], created: set[str]) -> None:
        """Draw these tensors from now on; of those drawn before, give back what was uploaded for this layer."""
        before, uploaded = self._tensors, self._created
        reused = {key for key in uploaded if tensors.get(key) is before[key]}
        self.__dict__.update(_tensors=tensors, _created=created | reused)
        for key in uploaded - reused:
            before[key].close()

    def release(self) -> None:
        """Give back what was uploaded for this layer."""
        for key in self._created:
            self._tensors[key].close()
        self._created.clear()

    # inside -----------------------------------------------------------------------------------------------------

    def _names(self) -> list[str]:
        return [*self._layer.ATTRIBUTES, *self._layer.Style.model_fields]

    def _values(self) -> dict[str, Any]:
        style = self._viewer.session.stage.layers[self.name].style
        constants = {
            key: value
            for key, value in self._viewer.session.scene.layers[self.name].attributes.items()
            if key not in self._tensors
        }
        return {**style.model_dump(exclude_defaults=True), **constants, **self._tensors}

    def _replace(self, key: str, value: Any) -> None:
        before = self._tensors[key]
        if key in self._created and not isinstance(value, Tensor):
            array = as_array(value, key)
            if (array.shape, array.dtype) == (before.shape, np.dtype(before.dtype.numpy)):
                before[...] = array
                return
        tensor, created = as_tensor(value, key, f"{self.name}.{key}")
        if tensor is before:
            return
        instance = self._viewer.session.stage.instances[self.name]
        assert isinstance(instance.model, DataModel)
        instance.publication.withdraw()
        self._tensors[key] = tensor
        try:
            instance.model.rebind(key)
            self._viewer.session.stage.rebind()
        except VertigradError as error:
            self._tensors[key] = before
            instance.model.rebind(key)
            self._viewer.session.stage.rebind()
            raise InputError(f"{self.type} {self.name!r}: {error}") from error
        finally:
            self._viewer.publish()
        if key in self._created:
            before.close()
        (self._created.add if created else self._created.discard)(key)


def is_data(value: Any, attribute: AttributeSpec) -> bool:
    """Whether it has a value for each row: an array or a tensor, in difference to what a scene can say in a word.

    That is "MODEL.OUTPUT", a color by its name or code, a number, or as many in a tuple or list as a row has.
    """
    if isinstance(value, str):
        return False
    if attribute.default is None:
        return True
    if isinstance(value, int | float):
        return False
    is_row = isinstance(value, tuple | list) and len(value) in attribute.components
    return not (is_row and all(isinstance(number, int | float) for number in value))
