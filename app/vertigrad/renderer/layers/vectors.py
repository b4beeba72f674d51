"""`VectorsLayer`: a field of vectors as arrows on a lattice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ...gpu import Kernel, Plan
from ...params import choice, integer
from ...tensor import Tensor
from ..moment import Moment
from . import styles
from .arrows import ArrowsDrawing, ArrowsStyle
from .attributes import Attributes
from .base import Attribute, AttributeSpec, Layer
from .box import Vector
from .styles import Corner
from .vector_field import PLANES, VectorField, longest

SHADER = "draw/vectors.wgsl"
LENGTH = "length"


class VectorsStyle(ArrowsStyle):
    """How the arrows of a field look, where it is, and how many there are."""

    anchor: str = choice("middle", ("tail", "middle", "tip"), doc="the part of the arrow that is at its position")
    low: Corner = styles.box_low()
    high: Corner = styles.box_high()
    samples: str = styles.box_samples("cells")
    plane: str = choice("xz", tuple(PLANES), doc="plane of a two-dimensional field")
    count: int = integer(
        16, min=1, max=256, slider_max=64, scale="log", doc="number of arrows along the longest edge of the box"
    )


class VectorsDrawing(ArrowsDrawing):
    """Arrows that a kernel computes in each frame: (count, 7) with direction and color."""

    def build(self, values: Mapping[str, Attribute]) -> None:
        """See `Drawing`."""
        style, specs = self.style, VectorsLayer.ATTRIBUTES
        self._field = self.hold(VectorField(self.gpu, self.name, "vectors", values, style.plane))
        corners = Attributes(self.gpu, self.name, specs, values, "vertex", excluded=specs)
        corners.add("position", self._field.box.positions, (3,))
        box = self._field.place(style)
        self._lattice = _lattice(box["low"], box["high"], style.count)
        x, y, z = self._lattice
        self._arrows = self.hold(Tensor.empty((x * y * z, 7), name=f"{self.name}.arrows"))
        parts = {"position": slice(0, 3), "direction": slice(3, 6), "color": 6}
        drawn: dict[str, Attribute] = {key: self.hold(self._arrows[:, part]) for key, part in parts.items()}
        color = values.get("color", LENGTH)
        if color != LENGTH:
            drawn["color"] = color
        self.create_arrows(drawn, self._field.tensor)
        self.attributes = corners
        if self.extent is not None:
            corners.add("extent", self.hold(self.extent.pair.expand(corners.rows, 2)), (2,))
        self.reported |= {"vectors": self._field.report, "color": color}

    @property
    def wanted_form(self) -> object:
        """What the lattice depends on."""
        style = self.style
        return style.low, style.high, style.samples, style.plane, style.count

    def compute(self, moment: Moment | None) -> None:
        """Take the field at the points of the lattice."""
        self.plan.replay()

    @property
    def plan_key(self) -> tuple[object, ...]:
        """Whether the extent of the colors is needed."""
        return (self.extent is not None and self.style.range == "auto",)

    def record(self, plan: Plan, *key: object) -> None:
        """Take the field, then find the extent of the colors if the key says so."""
        plan.dispatch(
            Kernel.load(SHADER),
            self._arrows.shape[0],
            overwrites=("arrows",),
            vectors=self._field.tensor,
            lattice=self._lattice,
            arrows=self._arrows,
            **self._field.constants,
            **self._field.place(self.style),
        )
        if self.extent is not None and key[0]:
            self.extent.add_to(plan)


class VectorsLayer(Layer):
    """Arrows at the points of a lattice, along the vectors there; trilinear between the samples of the field.

    When picking, a row is the number of a point in the lattice, x fastest.
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
