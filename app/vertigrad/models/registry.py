"""The built-in types of model: every file in a family's folder that defines one, under the file's name."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from inspect import isabstract
from types import ModuleType

from .base import Model

FAMILIES = ("physics", "neural")


@cache
def types() -> dict[str, type[Model]]:
    """Class of each type: `types()["nbody"]` is in `models/physics/nbody.py`. Imports all of them."""
    return {name: model for module in _modules() for name, model in _model_in(module)}


def _modules() -> Iterator[ModuleType]:
    for family in FAMILIES:
        folder = import_module(f"{__package__}.{family}")
        for found in pkgutil.iter_modules(folder.__path__):
            yield import_module(f"{folder.__name__}.{found.name}")


def _model_in(module: ModuleType) -> Iterator[tuple[str, type[Model]]]:
    own = [kind for kind in vars(module).values() if _is_model(kind) and kind.__module__ == module.__name__]
    if len(own) > 1:
        raise TypeError(f"{module.__name__} defines {len(own)} models; a file is one type of model")
    for kind in own:
        yield module.__name__.rpartition(".")[2], kind


def _is_model(thing: object) -> bool:
    return isinstance(thing, type) and issubclass(thing, Model) and not isabstract(thing)
