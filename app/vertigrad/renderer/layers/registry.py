"""The types of layer: each is the class `NameLayer` of the file of its name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module

from .base import Layer

NAMES = (
    *("points", "liquid", "marks", "surface", "instances", "birds", "arrows", "lines", "trails", "streamlines"),
    *("vectors", "splats", "image", "isosurface", "volume", "slices", "tensor", "asset", "light"),
)


@cache
def types() -> Mapping[str, type[Layer]]:
    """Each layer class by its name in a scene."""
    return {name: getattr(import_module(f".{name}", __package__), f"{name.capitalize()}Layer") for name in NAMES}
