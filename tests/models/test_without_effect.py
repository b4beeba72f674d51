"""Parameters declared to have no effect change nothing, and those with an effect are not declared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vertigrad import Tensor
from vertigrad.gpu import Gpu
from vertigrad.models import registry

MATTER = {name: "none" for name in ("water", "jelly", "snow", "sand")}
SMALL: dict[str, dict[str, Any]] = {  # so that models are fast
    "gray_scott": {"resolution": 16},
    "shallow_water": {"rows": 6, "columns": 8},
    "cloth": {"resolution": 6},
    "fluid": {"count": 200, "spacing": 0.1},
    "mpm": {"count": 200, "resolution": 16},
}
# Type, values, inputs; other values of parameters that are then without effect.
OVERRIDDEN = [
    ("gray_scott", {"pattern": "eta"}, {}, {"feed": 0.01, "kill": 0.02}),
    ("shallow_water", {}, {"bed": (4, 5)}, {"rows": 9, "columns": 7, "ground": "hills", "relief": 9.0}),
    ("shallow_water", {"ground": "flat"}, {}, {"relief": 9.0}),
    (
        "cloth",
        {},
        {},
        {"wind_center": (1.0, 2.0, 3.0), "wind_size": (9.0, 9.0, 9.0), "ground": 0.9, "tear_strain": 0.02},
    ),
    ("cloth", {}, {}, {"obstacle_center": (1.0, 2.0, 3.0), "obstacle_size": (9.0, 9.0, 9.0)}),
    (
        "fluid",
        {"body": "none"},
        {},
        {"obstacle_center": (0.5, 0.5, 0.5), "obstacle_spacing": 1.0, "body_size": (1.0, 1.0, 1.0)},
    ),
    ("mpm", MATTER | {"water": "box"}, {}, {"jelly_center": (0.1, 0.1, 0.1), "snow_size": (0.9, 0.9, 0.9)}),
    ("mpm", {}, {}, {"obstacle_corner": (0.5, 0.5, 0.5), "obstacle_spacing": 1.0}),
]
# Type, values with which the named parameter has an effect, another value of it.
EFFECTIVE = [
    ("gray_scott", {"pattern": "own"}, {"feed": 0.01}),
    ("gray_scott", {"pattern": "own"}, {"kill": 0.02}),
    ("shallow_water", {"ground": "hills", "relief": 2.0}, {"relief": 9.0}),
    ("shallow_water", {}, {"rows": 9}),
    ("cloth", {"floor": True, "ground": -9.0}, {"ground": 0.5}),
    ("mpm", MATTER | {"water": "box"}, {"water_size": (0.2, 0.2, 0.2)}),
]


def outputs_of(type_: str, values: dict[str, Any], inputs: dict[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """The outputs of a model of this type after three steps, without the surface of an absent body."""
    kind = registry.types()[type_]
    tensors = {name: Tensor.from_numpy(np.zeros(shape, np.float32), name) for name, shape in inputs.items()}
    model = kind("model", kind.Params.parse(SMALL[type_] | values), tensors, 1)
    try:
        for _ in range(3):
            model.step(1.0 / 60.0)
        return {name: tensor.numpy() for name, tensor in model.outputs().items() if not name.startswith("body")}
    finally:
        model.close()
        for tensor in tensors.values():
            tensor.close()


def declared(type_: str, values: dict[str, Any], inputs: dict[str, tuple[int, ...]]) -> set[str]:
    kind = registry.types()[type_]
    return set(kind.without_effect(kind.Params.parse(SMALL[type_] | values), inputs))


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    return all(np.array_equal(one[name], other[name]) for name in one)


@pytest.mark.turns(3)
@pytest.mark.parametrize(("type_", "values", "inputs", "others"), OVERRIDDEN)
def test_declared_parameters_change_nothing(steady: Gpu, type_, values, inputs, others) -> None:
    assert others.keys() <= declared(type_, values, inputs)
    assert same(outputs_of(type_, values, inputs), outputs_of(type_, values | others, inputs))


@pytest.mark.parametrize(("type_", "values", "other"), EFFECTIVE)
def test_parameters_with_an_effect_are_not_declared(steady: Gpu, type_, values, other) -> None:
    assert declared(type_, values, {}).isdisjoint(other)
    assert not same(outputs_of(type_, values, {}), outputs_of(type_, values | other, {}))


def test_every_declared_parameter_exists() -> None:
    for type_, kind in registry.types().items():
        try:
            params = kind.Params.parse({})
        except Exception:  # a file is required
            continue
        assert kind.without_effect(params, ()).keys() <= kind.Params.model_fields.keys(), type_
