"""The built-in types of model: every file in a family's folder that defines one, under the file's name."""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from inspect import isabstract
from pathlib import Path
from typing import Any, Protocol

from .base import Fault, Model

FAMILIES = ("physics", "neural", "learning", "data", "own")


class SceneFiles(Protocol):
    """The files of a scene, and the Python in them."""

    def __call__(self, text: str) -> Path:
        """The file of this name. Raises `ParameterError` if there is none."""
        ...

    def entry(self, file: Path, name: str) -> Any:
        """The function or class `name` of a Python file. Raises `CodeError`, `UntrustedCode`."""
        ...

    def guarded(self, function: Callable[..., Any], file: Path) -> Callable[..., Any]:
        """The function with exceptions turned into a `CodeError` that names the line of the file."""
        ...

    def require_trust(self, file: Path) -> None:
        """Raise `UntrustedCode` unless the file, which may run code, may be loaded with its current content."""
        ...


class _Types(Mapping[str, type[Model]]):
    """Imports a type's file on first access, and all files only when listed: some take long."""

    def __getitem__(self, name: str) -> type[Model]:
        model = _model(name)
        if model is None:
            raise KeyError(name)
        return model

    def __iter__(self) -> Iterator[str]:
        return (name for name in _files() if _model(name) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


@cache
def types() -> Mapping[str, type[Model]]:
    """Class of each type: `types()["nbody"]` is in `models/physics/nbody.py`, imported on first access."""
    return _Types()


def declared(kind: type[Model], table: Mapping[str, Any], files: SceneFiles) -> tuple[type[Model], Sequence[Fault]]:
    """The class for a scene's table, and faults in it: `kind`, unless its file creates classes by `declare`."""
    declare = getattr(sys.modules[kind.__module__], "declare", None)
    return (kind, ()) if declare is None else declare(table, files)


@cache
def _files() -> dict[str, str]:
    """The full name of every module in a family's folder, by its own."""
    folders = [import_module(f"{__package__}.{family}") for family in FAMILIES]
    return {
        found.name: f"{one.__name__}.{found.name}" for one in folders for found in pkgutil.iter_modules(one.__path__)
    }


@cache
def _model(name: str) -> type[Model] | None:
    if name not in _files():
        return None
    module = import_module(_files()[name])
    own = [kind for kind in vars(module).values() if _is_model(kind) and kind.__module__ == module.__name__]
    if len(own) > 1:
        raise TypeError(f"{module.__name__} defines {len(own)} models; a file is one type of model")
    return own[0] if own else None


def _is_model(thing: object) -> bool:
    return isinstance(thing, type) and issubclass(thing, Model) and not isabstract(thing)
