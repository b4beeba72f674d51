"""`LayerHandle`: a layer that a script added, and the tensors it draws."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, SceneError, VertigradError
from ..params import unknown, with_hint
from ..renderer.layers import AttributeSpec, Layer
from ..scene.renamed import PARAMETERS, SWITCHES
from ..scene.schema import OutputRef
from ..session.parameters import Key
from ..tensor import Tensor
from .arrays import INDEX, as_array, as_tensor, require_rows
from .checks import problems_of
from .data_model import DataModel
from .layer_data import LayerData
from .values import plain

if TYPE_CHECKING:
    from .content import Content

COLORBAR = "colorbar"


class LayerHandle:
    """A layer of a viewer. Its attributes are the tensors that it draws, and its style.

    `cloud.position` is a `Tensor`: write into it (`cloud.position += velocity * dt`) and the next frame draws it from
    its own GPU buffer. Assigning an array of the same shape uploads it into that tensor, one of another shape or a
    `Tensor` takes its place. `cloud.size = 0.1` changes a constant or a parameter of the style, and
    `cloud.colorbar = {"title": "speed", "unit": "m/s"}` the legend (None: none). Assigning raises `InputError` with
    the name of what does not fit; all is as before then.
    """

    name: str
    type: str

    def __init__(self, content: Content, name: str, kind: str, layer: type[Layer], data: LayerData):
        self.__dict__.update(_content=content, name=name, type=kind, _layer=layer, _data=data)

    def __getattr__(self, key: str) -> Any:
        if key.startswith("_"):
            raise AttributeError(key)
        self._require_drawn()
        if key in self._data.tensors:
            return self._data.tensors[key]
        if key in self._layer.ATTRIBUTES:
            constants = self._content.session.scene.layers[self.name].attributes
            return constants.get(key, self._layer.ATTRIBUTES[key].default)
        if key in self._layer.Style.model_fields:
            return getattr(self._content.session.stage.layers[self.name].style, key)
        if key == COLORBAR:
            return self._content.document.values["layers"][self.name].get(key)
        raise AttributeError(self._unknown(key))

    def __setattr__(self, key: str, value: Any) -> None:
        self.set(**{key: value})

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._names()]

    def set(self, **values: Any) -> None:
        """Change attributes and style, one after the other. Raises `InputError`, `DtypeError`, `ParameterError`."""
        self._content.require_open()
        self._require_drawn()
        for key, value in values.items():
            if key in self._layer.Style.model_fields:
                self._content.session.running.assign({Key(f"layers.{self.name}", key): plain(value)})
            elif key not in self._layer.ATTRIBUTES and key != COLORBAR:
                raise InputError(self._unknown(key))
            elif key in self._data.tensors and is_data(value, self._layer.ATTRIBUTES[key]):
                self._replace(key, value)
            else:
                self._content.change_layer(self, {**self._values(), key: value})

    def save(self, path: str | Path) -> Path:
        """Write what the layer draws now as .ply, .obj or .glb; waits for the GPU.

        Raises `InputError` for another suffix, for images and volumes, and if the file cannot be written.
        """
        self._require_drawn()
        return self._content.export(path, self.name)

    def remove(self) -> None:
        """Take the layer out of the viewer. Tensors that the script passed stay its own."""
        self._content.require_open()
        self._require_drawn()
        self._content.remove(self.name)

    def __repr__(self) -> str:
        drawn = ", ".join(f"{key}: {tensor.dtype} {tensor.shape}" for key, tensor in self._data.tensors.items())
        return f"LayerHandle({self.type} {self.name!r}, {drawn})"

    # inside -----------------------------------------------------------------------------------------------------

    def _require_drawn(self) -> None:
        """Raise `InputError` if the layer was removed, or another one has its name now."""
        if self._content.layers.get(self.name) is not self:
            raise InputError(f"the layer {self.name!r} of this handle was removed or replaced")

    def _unknown(self, key: str) -> str:
        """The message about an attribute that there is not: by another name, if it was renamed."""
        new = PARAMETERS.get(("layers", self.type), {}).get(key)
        if new is None:
            return f"{self.type} {self.name!r}: {unknown('attribute', key, self._names())}"
        values = [f"{value!r} for {old}" for old, value in SWITCHES.get(("layers", self.type, new), {}).items()]
        return with_hint(f"{self.type} {self.name!r}: {key} is now called {new}", ", ".join(values))

    def _names(self) -> list[str]:
        return [*self._layer.ATTRIBUTES, *self._layer.Style.model_fields, COLORBAR]

    def _values(self) -> dict[str, Any]:
        """All that was set, as `change_layer` takes it."""
        spec, style = (found.layers[self.name] for found in (self._content.session.scene, self._content.session.stage))
        constants = {
            key: value.text if isinstance(value, OutputRef) else value
            for key, value in spec.attributes.items()
            if key not in self._data.tensors
        }
        changed = style.style.model_dump(exclude_defaults=True)
        return {**changed, **constants, **self._data.tensors, COLORBAR: self.colorbar}

    def _replace(self, key: str, value: Any) -> None:
        data, before = self._data, self._data.tensors[key]
        if key == INDEX and not isinstance(value, Tensor):
            require_rows(as_array(value, key), data.tensors, self._layer.ATTRIBUTES)
        if key in data.created and not isinstance(value, Tensor):
            array = as_array(value, key)
            if (array.shape, array.dtype) == (before.shape, np.dtype(before.dtype.numpy)):
                before[...] = array
                return
        tensor, created = as_tensor(value, key, f"{self.name}.{key}")
        if tensor is before:
            return
        instance = self._content.session.stage.instances[self.name]
        assert isinstance(instance.model, DataModel)
        instance.publication.withdraw()
        data.tensors[key] = tensor
        try:
            instance.model.rebind(key)
            self._content.session.stage.rebind()
        except VertigradError as error:
            data.tensors[key] = before
            instance.model.rebind(key)
            self._content.session.stage.rebind()
            if created:
                tensor.close()
            found = problems_of(error, self.name) if isinstance(error, SceneError) else str(error)
            raise InputError(f"{self.name!r}: {found}") from error
        finally:
            self._content.session.running.changes += 1
        if key in data.created:
            before.close()
        (data.created.add if created else data.created.discard)(key)


def is_data(value: Any, attribute: AttributeSpec) -> bool:
    """Whether it has a value for each row: an array or a tensor, in difference to what a scene can say in a word.

    That is "MODEL.OUTPUT", a color by its name or code, a number, or as many in a tuple or list as a row has.
    """
    if value is None or isinstance(value, str):
        return False
    if attribute.default is None:
        return True
    if isinstance(value, int | float | np.generic) or (isinstance(value, np.ndarray) and not value.ndim):
        return False
    is_row = isinstance(value, tuple | list) and len(value) in attribute.components
    return not (is_row and all(isinstance(number, int | float) for number in value))
