"""`LiquidRows`: the attributes of a liquid's particles as its compute shaders read them."""

from __future__ import annotations

import struct
from typing import Any

from ...gpu import Gpu
from ...memory import Block
from .attributes import Attributes, Bound

LISTS = struct.Struct("<2III2I2I2I8x")  # `Lists` in shaders/common/liquid_lists.wgsl
BINDINGS = {"position": 3, "size": 7, "density": 8}  # mirrored in shaders/common/liquid_rows.wgsl


class LiquidRows:
    """The attributes that are bound, as storage; `kinds` are those of their bindings, `defines` their types.

    Raises `LimitError` if one is larger than this GPU can bind.
    """

    def __init__(self, gpu: Gpu, name: str, attributes: Attributes):
        self._gpu, self.count = gpu, attributes.rows
        self._bound = {name: attributes.tensors[name] for name in BINDINGS if name in attributes.tensors}
        for attribute, bound in self._bound.items():
            bound.resource(gpu, f"layer {name!r}: {attribute}")
        self.kinds = {BINDINGS[name]: "storage" for name in self._bound}
        self.defines = {name.upper(): _number(self._bound[name]) if name in self._bound else "" for name in BINDINGS}

    @property
    def blocks(self) -> list[Block]:
        """Every block that is read."""
        return [bound.tensor.block for bound in self._bound.values()]

    def resources(self) -> dict[int, Any]:
        """What is bound at each binding."""
        return {BINDINGS[name]: bound.resource(self._gpu)[0] for name, bound in self._bound.items()}

    def lists(self, size: tuple[int, int], capacity: int = 0) -> bytes:
        """The bytes of `Lists`, for an image of `size` pixels and so many pairs of a tile and a particle."""
        found: list[int] = []  # of each attribute, its first element and the elements from one row to the next
        for name in BINDINGS:
            bound = self._bound.get(name)
            found += (bound.resource(self._gpu)[1], bound.stride) if bound else (0, 0)
        return LISTS.pack(*size, self.count, capacity, *found)


def _number(bound: Bound) -> str:
    """The type of an attribute's numbers in WGSL: vertex formats of one and three components have words."""
    return {"float": "f32", "int": "i32"}.get(bound.tensor.dtype.kind, "u32")
