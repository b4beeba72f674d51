"""Models whose outputs are tensors of a script: they take no steps, the script writes the tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from .. import params
from ..models.base import Comparison, Model, OutputSpec
from ..tensor import Tensor


class DataModel(Model):
    """Outputs are views of `tensors`, which belong to the script. It has nothing to step, to reset or to snapshot."""

    Params = params.Params
    has_steps = False
    tensors: ClassVar[dict[str, Tensor]]

    def __init__(self, name: str, params: Any, inputs: Mapping[str, Tensor], seed: int) -> None:
        self._views: dict[str, Tensor] = {}
        for key in self.tensors:
            self.rebind(key)

    @classmethod
    def output_specs(cls, params: Any) -> Mapping[str, OutputSpec]:
        return {name: OutputSpec(tensor.shape, str(tensor.dtype)) for name, tensor in cls.tensors.items()}

    def rebind(self, key: str) -> None:
        """Make the output `key` a view of what `tensors` has now."""
        view = self.tensors[key][...]
        if key in self._views:
            self._views[key].close()
        self._views[key] = view

    def outputs(self) -> dict[str, Tensor]:
        return self._views

    def close(self) -> None:
        for view in self._views.values():
            view.close()

    def step(self, dt: float) -> None:
        """Nothing: the script's loop writes the tensors."""

    def reset(self) -> None:
        """Nothing: the script decides what its tensors start from."""

    def diagnostics(self) -> dict[str, Tensor]:
        return {}

    def compare_with_reference(self) -> list[Comparison]:
        return []

    def state(self) -> dict[str, Tensor]:
        return {}

    def scalar_state(self) -> dict[str, float]:
        return {}

    def load_scalar_state(self, scalars: Mapping[str, float]) -> None:
        """Nothing is held outside of the tensors."""

    def reload_file(self, name: str) -> bool:
        return False


def data_model(tensors: dict[str, Tensor]) -> type[DataModel]:
    """A class of model with these tensors as its outputs."""
    return type("ScriptData", (DataModel,), {"tensors": tensors, "__doc__": "Arrays and tensors of a script."})


def controls_model(fields: Mapping[str, tuple[Any, Any]]) -> type[DataModel]:
    """A class of model without outputs, whose parameters are the controls of a script.

    `fields` are (annotation, field) by name, as `params.declare` makes the fields.
    """
    body = {
        "__annotations__": {name: annotation for name, (annotation, _) in fields.items()},
        **{name: field for name, (_, field) in fields.items()},
        "__doc__": "Controls of a script.",
        "__module__": __name__,
    }
    declared = type("Params", (params.Params,), body)
    return type("ScriptControls", (DataModel,), {"tensors": {}, "Params": declared, "__doc__": "Controls of a script."})
