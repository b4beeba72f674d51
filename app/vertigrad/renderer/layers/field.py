"""`Field`: a tensor of samples on a grid of three axes, as shaders of layers read it, from its own block."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import LayoutError, ParameterError
from ...gpu import Gpu
from ...tensor import Tensor
from .attributes import describe
from .base import Attribute, AttributeSpec
from .box import Box, inset
from .drawing import Drawing
from .recipe import Recipe
from .storage import storage_range

FIELD = struct.Struct("<4I4i")  # `Field` in shaders/common/field.wgsl


class Field:
    """Samples (nz, ny, nx) of f32, or (nz, ny, nx, components), of which `layer` draws the one named `name`.

    `size` counts samples along x, y and z, `strides` are elements from one to the next, `packed` are the bytes of
    `Field` in shaders/common/field.wgsl. Raises `LayoutError` for another shape or type, `LimitError` for more bytes
    than this GPU can bind.
    """

    def __init__(self, gpu: Gpu, layer: str, name: str, tensor: Tensor, components: int = 1):
        self.tensor = tensor
        self.components = components
        self._check(f"layer {layer!r}: {name} {tensor.name!r}")
        steps = [stride // tensor.itemsize for stride in tensor.strides]
        self.size = tuple(reversed(tensor.shape[:3]))
        self.strides = tuple(reversed(steps[:3]))
        component = steps[3] if components > 1 else 0
        _, first = storage_range(gpu, tensor, f"layer {layer!r}: {name}")
        self.packed = FIELD.pack(*self.size, first // tensor.itemsize, *self.strides, component)

    def report(self) -> dict[str, Any]:
        """Where it is and how it is read."""
        tensor = self.tensor
        return describe(tensor, tensor.strides[2], "float32" if self.components == 1 else "float32x3")

    def _check(self, where: str) -> None:
        tensor = self.tensor
        if tensor.dtype.name != "f32":
            raise LayoutError(f"{where} is {tensor.dtype}; samples of a grid must be f32: cast it")
        expected = "(nz, ny, nx)" if self.components == 1 else f"(nz, ny, nx, {self.components})"
        fits = tensor.ndim == 3 if self.components == 1 else tensor.shape[3:] == (self.components,)
        if not fits or min(tensor.shape[:3]) < 2:
            raise LayoutError(f"{where} has the shape {tensor.shape}; a grid has {expected}, 2 samples along each axis")


class FieldDrawing(Drawing):
    """Draws samples on a grid in a box, and a color that is constant or on another grid.

    `main` is the name of the samples; picking finds the nearest of them.
    """

    def bind_fields(
        self, values: Mapping[str, Attribute], specs: Mapping[str, AttributeSpec], main: str, others: Sequence[str] = ()
    ) -> None:
        """Set `fields`, `box` and `attributes`. Raises `ParameterError`, `LayoutError`, `LimitError`."""
        samples, color = values.get(main), values.get("color")
        if not isinstance(samples, Tensor):
            raise ParameterError(f"layer {self.name!r}: {main} must be a tensor, samples on a grid (nz, ny, nx)")
        self.main = main
        self.fields = {main: Field(self.gpu, self.name, main, samples)}
        if isinstance(color, Tensor):
            self.fields["color"] = Field(self.gpu, self.name, "color", color, 3 if color.ndim == 4 else 1)
        for name in others:
            if isinstance(other := values.get(name), Tensor):
                self.fields[name] = Field(self.gpu, self.name, name, other)
        self.box = self.hold(Box(self.name, self.fields[main].size))
        self.bind_grid(values, specs, (main, *self.fields), self.box.positions)
        self.color = self.attributes.color()
        self.reported |= {name: field.report for name, field in self.fields.items()}
        colors = self.fields["color"].packed if "color" in self.fields else bytes(FIELD.size)
        grids = {name: field.packed for name, field in self.fields.items() if name != "color"}
        self._packed_fields = grids | {"colors": colors}

    @property
    def row_count(self) -> int:
        """Samples of the grid: each is a row that can be picked, x first."""
        return math.prod(self.fields[self.main].size)

    def position_of(self, row: int) -> tuple[float, float, float]:
        """The position of a sample in world space."""
        low, high = self.box.fit(self.style)
        size, gap = self.fields[self.main].size, inset(self.style)
        x, y, z = (
            a + (index + gap) / max(count - 1 + 2 * gap, 1) * (b - a)
            for index, count, a, b in zip(self.index_of(row), size, low, high, strict=True)
        )
        return x, y, z

    def index_of(self, row: int) -> tuple[int, int, int]:
        """The indices x, y, z of a row."""
        x, y, _ = self.fields[self.main].size
        return row % x, row // x % y, row // (x * y)

    def uniform(self) -> dict[str, Any]:
        low, high = self.box.fit(self.style)
        return {**self._packed_fields, "low": low, "high": high, "inset": inset(self.style)}

    def add_color_extent(self) -> None:
        """Find the extent of the colors, if they are scalars."""
        color = self.fields.get("color")
        if color is not None and color.components == 1:
            self.add_extent(self.extent_of(color.tensor))

    def create_fields(
        self, recipe: Recipe, storage: Sequence[Tensor], *others: Tensor, defines: Mapping[str, Any] | None = None
    ) -> None:
        """Draw with these, and the color as one more, bound as storage."""
        color = self.fields.get("color")
        colors, components = ([color.tensor], color.components) if color else ([], 0)
        self.create(
            recipe,
            storage=[*storage, *colors],
            others=others,
            defines={"COLOR_COMPONENTS": components, **(defines or {})},
        )
