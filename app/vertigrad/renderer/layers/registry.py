"""The types of layer: each is the class `NameLayer` of the file of its name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module

from .base import Layer

NAMES = (
    *("points", "liquid", "marks", "surface", "instances", "birds", "arrows", "lines", "trails", "streamlines"),
    *("vectors", "splats", "image", "isosurface", "volume", "slices", "tensor", "asset", "light"),
)


class _Types(Mapping[str, type[Layer]]):
    """Imports a type's file on first access: all of them take a tenth of a second."""

    def __getitem__(self, name: str) -> type[Layer]:
        return _layer(name)

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)

    def __contains__(self, name: object) -> bool:
        return name in NAMES


def types() -> Mapping[str, type[Layer]]:
    """Each layer class by its name in a scene."""
    return _TYPES


@cache
def _layer(name: str) -> type[Layer]:
    if name not in NAMES:
        raise KeyError(name)
    return getattr(import_module(f".{name}", __package__), f"{name.capitalize()}Layer")


_TYPES = _Types()
