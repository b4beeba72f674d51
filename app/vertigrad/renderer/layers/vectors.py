"""`VectorsLayer`: a field of vectors as arrows on a lattice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import Any, ClassVar, Literal

import wgpu

from ...gpu import Gpu, Kernel, Plan
from ...memory import Block
from ...params import Params, choice, integer, vector
from ...tensor import Tensor
from ..moment import Moment
from .arrows import ArrowsLayer, ArrowsStyle
from .attributes import Attributes
from .base import Attribute, AttributeSpec, Frame
from .box import Vector
from .content import Content, ContentLayer
from .vector_field import PLANES, VectorField, longest

SHADER = "draw/vectors.wgsl"
LENGTH = "length"


class VectorsStyle(ArrowsStyle):
    """How the arrows of a field look, where it lies, and how many there are."""

    anchor: str = choice("middle", ("tail", "middle", "tip"), doc="the part of the arrow that is at its position")
    low: tuple[float, ...] | Literal["auto"] = vector(
        "auto", words=("auto",), doc="low corner of the box in world space; auto: cubic cells around the origin"
    )
    high: tuple[float, ...] | Literal["auto"] = vector("auto", words=("auto",), doc="high corner of the box")
    samples: str = choice(
        "cells",
        ("cells", "nodes"),
        doc="cells: samples are at cell centers; nodes: the outer samples are on the faces of the box",
    )
    plane: str = choice("xz", tuple(PLANES), doc="plane of a two-dimensional field")
    count: int = integer(
        16, min=1, max=256, slider_max=64, scale="log", doc="number of arrows along the longest edge of the box"
    )


class VectorsLayer(ContentLayer["_Content"]):
    """Arrows at the places of a lattice, along the vectors there; trilinear between the samples of the field."""

    casts: ClassVar[bool] = True
    blends: ClassVar[bool] = True
    Style: ClassVar[type[Params]] = VectorsStyle
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]] = {
        "vectors": AttributeSpec(True, (2, 3), None, "vectors on a grid (nz, ny, nx, 3), or on a two-dimensional one"),
        "color": AttributeSpec(False, (3, 4), LENGTH, "one sRGB; without it, the length", own_rows=True),
    }

    def bind(self, attributes: Mapping[str, Attribute]) -> None:
        """Draw these from now on.

        Raises `LayoutError` or `ParameterError` for what cannot be drawn; what was bound before stays then.
        """
        self._take(_Content(self._gpu, self.name, attributes, self.style))
        self._given = attributes

    def prepare(self, moment: Moment | None = None) -> None:
        """Take the field at the places of the lattice."""
        if self._bound.is_another(self.style):
            self.bind(self._given)
        self._bound.prepare(self.style, moment)

    def draw(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw the arrows."""
        self._bound.arrows.draw(pass_, frame)

    def draw_over(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Arrows are solid: nothing."""

    def draw_rows(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw the arrows as their numbers in the lattice, x fastest."""
        self._bound.arrows.draw_rows(pass_, frame)


class _Content(Content):
    """Everything on the device that is needed to draw one set of attributes."""

    def __init__(self, gpu: Gpu, name: str, given: Mapping[str, Attribute], style: VectorsStyle):
        self._gpu = gpu
        specs = VectorsLayer.ATTRIBUTES
        with ExitStack() as stack:  # closes what was made if something that follows cannot be
            held = stack.enter_context
            self._field = VectorField(gpu, name, "vectors", given, style.plane)
            stack.callback(self._field.close)
            self.attributes = Attributes(gpu, name, specs, given, "vertex", beside=tuple(specs))
            self.attributes.add("position", self._field.box.positions, (3,))
            self._asked = _asked(style)
            told = self._field.place(style)
            lattice = _lattice(told["low"], told["high"], style.count)
            count = lattice[0] * lattice[1] * lattice[2]
            places = held(Tensor.empty((count, 7), name=f"{name}.arrows"))
            self._plan = held(Plan(f"{name}.lattice"))
            self._plan.dispatch(
                Kernel.load(SHADER),
                count,
                overwrites=("arrows",),
                vectors=self._field.tensor,
                lattice=lattice,
                arrows=places,
                **self._field.told,
                **told,
            )
            self.arrows = ArrowsLayer(gpu, name, style)
            stack.callback(self.arrows.close)
            parts = {"position": slice(0, 3), "direction": slice(3, 6), "color": 6}
            drawn: dict[str, Attribute] = {key: held(places[:, part]) for key, part in parts.items()}
            self._color = given.get("color", LENGTH)
            if self._color != LENGTH:
                drawn["color"] = self._color
            self.arrows.bind(drawn)
            if style.range == "auto":
                self.arrows.find_extent(self._plan)
            if "extent" in self.arrows.attributes.tensors:
                extent = self.arrows.attributes.tensors["extent"].tensor
                self.attributes.add("extent", extent[:1].expand(self.attributes.rows, 2), (2,))
            self._held = stack.pop_all()

    def is_another(self, style: VectorsStyle) -> bool:
        """Whether another plan is wanted for this style."""
        return _asked(style) != self._asked

    def prepare(self, style: VectorsStyle, moment: Moment | None) -> None:
        self._gpu.make_resident(self._field.tensor.owner)
        self._plan.replay()
        self.arrows.prepare(moment)

    def blocks(self) -> Iterable[Block]:
        return [*self.arrows.blocks(), self._field.tensor.block]

    def report(self) -> dict[str, Any]:
        return {"vectors": self._field.report(), "color": self._color}

    def close(self) -> None:
        self._held.close()


def _asked(style: VectorsStyle) -> tuple[Any, ...]:
    """What of a style the plan depends on."""
    return style.low, style.high, style.samples, style.plane, style.count, style.range == "auto"


def _lattice(low: Vector, high: Vector, count: int) -> tuple[int, int, int]:
    """Places along each axis, `count` of them along the longest."""
    spacing = max(longest((low, high)), 1e-30) / count
    x, y, z = (max(1, round((b - a) / spacing)) for a, b in zip(low, high, strict=True))
    return x, y, z
