"""Every tensor of a scene's models, by name: outputs, state, and other tensors of a model, such as weights."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..errors import ParameterError, UseAfterFree
from ..memory import Owner
from ..models.inside import Role, tensors_of
from ..params import unknown
from ..scene.model_instance import ModelInstance
from ..scene.stage import Stage
from ..tensor import Tensor
from ..tensor.shape import Layout, Shape


class Entry(NamedTuple):
    """A tensor that can be inspected; `name` is "model.tensor", `role` its use in its model."""

    name: str
    model: str
    role: Role
    tensor: Tensor


def catalog(stage: Stage) -> dict[str, Entry]:
    """The tensors of all models as they are now, by name; models in the order of the scene, outputs first."""
    found: dict[str, Entry] = {}
    listed: set[tuple[Owner, Layout]] = set()
    for model, instance in stage.instances.items():
        for role, name, tensor in [*tensors_of(instance.model), *_observed(instance)]:
            key = f"{model}.{name}"
            if key in found or not _alive(tensor) or (role != "output" and (tensor.owner, tensor.layout) in listed):
                continue
            listed.add((tensor.owner, tensor.layout))
            found[key] = Entry(key, model, role, tensor)
    return found


def find(stage: Stage, name: str) -> Tensor | None:
    """The tensor of this name in `catalog`; None if there is none now."""
    model, _, rest = name.partition(".")
    instance = stage.instances.get(model)
    if instance is None:
        return None
    tensor = instance.outputs.get(rest)
    if tensor is None:
        entry = catalog(stage).get(name)
        tensor = entry.tensor if entry else None
    return tensor if tensor is not None and _alive(tensor) else None


def require(stage: Stage, name: str) -> Tensor:
    """The tensor of this name in `catalog`. Raises `ParameterError` if there is none now."""
    tensor = find(stage, name)
    if tensor is None:
        raise ParameterError(unknown("tensor", name, catalog(stage)))
    return tensor


def row_axes(shape: Shape, rows: int) -> int | None:
    """How many leading axes of a tensor of this shape count `rows` rows; None if they do not."""
    return next((axes for axes in range(len(shape), 0, -1) if math.prod(shape[:axes]) == rows), None)


def _observed(instance: ModelInstance) -> list[tuple[Role, str, Tensor]]:
    return [("inside", name, tensor) for name, tensor in instance.observed_tensors.items()]


def _alive(tensor: Tensor) -> bool:
    try:
        return tensor.block is not None
    except UseAfterFree:
        return False
