"""The built-in types of model."""

import sys
from types import ModuleType

import pytest

from vertigrad.models import Model, registry


def test_a_type_has_the_name_of_its_file():
    found = registry.types()
    assert {"nbody", "neural_field"} <= found.keys()
    for name, model in found.items():
        assert issubclass(model, Model)
        assert model.__module__.split(".")[-1] == name
        assert model.__module__.split(".")[-2] in registry.FAMILIES


def test_every_type_tells_its_outputs_from_its_defaults():
    for name, model in registry.types().items():
        outputs = model.output_specs(model.Params())
        assert outputs, name
        assert model.required_inputs <= model.inputs.keys()
        assert all(spec.doc for spec in model.Params.specs()), name


def test_a_file_with_two_models_is_refused(monkeypatch):
    module = ModuleType("vertigrad.models.physics.twins")
    for name in ("First", "Second"):
        methods = dict.fromkeys(Model.__abstractmethods__, lambda self: None)
        setattr(module, name, type(name, (Model,), {"__module__": module.__name__, **methods}))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(registry, "_modules", lambda: [module])
    with pytest.raises(TypeError, match="2 models"):
        registry.types.__wrapped__()
