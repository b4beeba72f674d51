"""`VectorsLayer`: a field of vectors as arrows on a lattice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ...gpu import Kernel, Plan
from ...params import choice, integer
from ...tensor import Tensor
from ..moment import Moment
from .arrows import ArrowsDrawing, ArrowsStyle
from .base import Attribute, AttributeSpec, Layer
from .box import BoxStyle, Vector
from .vector_field import PLANES, VectorField, longest

SHADER = "draw/vectors.wgsl"
LENGTH = "length"


class VectorsStyle(BoxStyle, ArrowsStyle):
    """The style, box and number of the arrows of a field."""

    anchor: str = choice("middle", ("tail", "middle", "tip"), doc="the part of the arrow that is at its position")
    plane: str = choice("xz", tuple(PLANES), doc="plane of a two-dimensional field")
    count: int = integer(
        16, min=1, max=256, slider_max=64, scale="log", doc="number of arrows along the longest edge of the box"
    )


class VectorsDrawing(ArrowsDrawing):
    """Arrows that a kernel computes in each frame: (count, 7) with direction and color."""

    plans_extent = True
    rebuilds = ("low", "high", "samples", "plane", "count")

    def build(self, values: Mapping[str, Attribute]) -> None:
        style, specs = self.style, VectorsLayer.ATTRIBUTES
        self._field = VectorField(self.gpu, self.name, "vectors", values, style.plane)
        self.hold(self._field.box)
        box = self._field.kernel_params(style)
        self._lattice = _lattice(box["low"], box["high"], style.count)
        x, y, z = self._lattice
        self._arrows = self.hold(Tensor.empty((x * y * z, 7), name=f"{self.name}.arrows"))
        parts = {"position": slice(0, 3), "direction": slice(3, 6), "color": 6}
        drawn: dict[str, Attribute] = {key: self.hold(self._arrows[:, part]) for key, part in parts.items()}
        color = values.get("color", LENGTH)
        if color != LENGTH:
            drawn["color"] = color
        super().build(drawn, self._field.tensor)
        self.bind_grid(values, specs, specs, self._field.box.positions)
        self.reported |= {"vectors": self._field.report, "color": color}

    def compute(self, moment: Moment | None) -> None:
        self.plan.update()

    def record(self, plan: Plan) -> None:
        plan.dispatch(
            Kernel.load(SHADER),
            self._arrows.shape[0],
            overwrites=("arrows",),
            vectors=self._field.tensor,
            lattice=self._lattice,
            arrows=self._arrows,
            **self._field.constants,
            **self._field.kernel_params(self.style),
        )


class VectorsLayer(Layer):
    """Arrows at the points of a lattice, along the field, which is interpolated trilinearly between its samples.

    When picking, a row is the index of a point in the lattice, x fastest.
    """

    casts = True
    blends = True
    Style = VectorsStyle
    DRAWING = VectorsDrawing
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]] = {
        "vectors": AttributeSpec(True, (2, 3), None, "vectors on a grid (nz, ny, nx, 3), or on a two-dimensional one"),
        "color": AttributeSpec(False, (3, 4), LENGTH, "one sRGB; without it, the length", own_rows=True),
    }


def _lattice(low: Vector, high: Vector, count: int) -> tuple[int, int, int]:
    """Points along each axis, `count` of them along the longest."""
    spacing = max(longest((low, high)), 1e-30) / count
    x, y, z = (max(1, round((b - a) / spacing)) for a, b in zip(low, high, strict=True))
    return x, y, z
