"""`Document`: the scene of a script, as the text and the types of model that the loader takes."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import tomlkit

from ..models import Model, registry
from ..scene.schema import VERSION

CONTROLS = "controls"  # the model whose parameters are the script's controls


class Document:
    """What a scene file would say, grown call by call. `values` are its tables, `types` the models that it names."""

    def __init__(self, title: str):
        self.values: dict[str, Any] = {
            "version": VERSION,
            "title": title,
            "camera": {"fit": True},
            "view": {},
            "models": {},
            "layers": {},
        }
        self.types: dict[str, type[Model]] = {}
        self.opened: set[str] = set()  # whole paths of files that it may name, wherever they are

    @property
    def text(self) -> str:
        """The document as TOML."""
        return tomlkit.dumps(self.values)

    @property
    def model_types(self) -> Mapping[str, type[Model]]:
        """The types that it may name: those that come with Vertigrad, imported on first access, and its own."""
        return ChainMap(dict(self.types), registry.types())  # type: ignore[arg-type]  # only the first is written to

    def put_model(self, name: str, kind: type[Model] | str, values: Mapping[str, Any] | None = None) -> None:
        """Add a model of a class or of a type by its name, or give the model of that name another one."""
        self.types.pop(f"script.{name}", None)
        if not isinstance(kind, str):
            self.types[f"script.{name}"] = kind
        type_name = kind if isinstance(kind, str) else f"script.{name}"
        self.values["models"][name] = {"type": type_name, **(values or {})}

    def remove(self, section: str, name: str) -> None:
        """Take a table out of `section`, if it is there."""
        self.values[section].pop(name, None)
        if section == "models":
            self.types.pop(f"script.{name}", None)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Take back what is changed inside if it raises."""
        before = deepcopy(self.values), dict(self.types)
        try:
            yield
        except BaseException:
            self.values, self.types = before
            raise
