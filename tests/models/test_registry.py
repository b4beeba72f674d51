"""The built-in types of model."""

import subprocess
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


def test_every_type_declares_its_outputs_for_default_parameters():
    for name, model in registry.types().items():
        of_its_own = not hasattr(sys.modules[model.__module__], "declare")  # otherwise outputs depend on a table
        if of_its_own and not any(spec.required for spec in model.Params.specs()):
            assert model.output_specs(model.Params()), name
        assert model.required_inputs <= model.inputs.keys()
        assert all(spec.doc for spec in model.Params.specs()), name


def test_a_file_with_two_models_is_refused(monkeypatch):
    module = ModuleType("vertigrad.models.physics.references")
    for name in ("First", "Second"):
        methods = dict.fromkeys(Model.__abstractmethods__, lambda self: None)
        setattr(module, name, type(name, (Model,), {"__module__": module.__name__, **methods}))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(registry, "_files", lambda: {"references": module.__name__})
    with pytest.raises(TypeError, match="2 models"):
        registry.types()["references"]


@pytest.mark.turns(3)
def test_only_the_requested_type_is_imported():
    program = (
        "import sys; from vertigrad.models import registry\n"
        "nbody = registry.types()['nbody']\n"
        "assert nbody.__name__ == 'NBody', nbody\n"
        "assert 'nosuch' not in registry.types() and registry.types().get('galaxy') is None\n"
        "print([name for name in sys.modules if name.endswith('neural_field')])\n"
        "print('neural_field' in list(registry.types()))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=900)
    assert done.stdout.split("\n")[:2] == ["[]", "True"], done.stderr
