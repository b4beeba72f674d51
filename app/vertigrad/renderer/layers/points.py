"""`PointsLayer`: points as lit or glowing spheres."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import ClassVar, Literal

import wgpu

from ...gpu import Gpu
from ...memory import Block
from ...params import Params, choice, interval, number, switch
from ..colormap import COLORMAPS
from ..moment import Moment
from .attributes import Attributes
from .base import Attribute, AttributeSpec, Frame
from .content import ContentLayer
from .drawing import Drawing, Recipe
from .point_splatting import PointSplatting, adds_up

STYLE = struct.Struct("<13f12x")  # `Style` in shaders/draw/points.wgsl
RECIPE = Recipe(
    shader="draw/points.wgsl",
    stages={"solid": False, "distant": True},
    locations={"position": 0, "color": 1, "size": 2, "extent": 3},
    style_size=STYLE.size,
    primitive={"topology": "triangle-strip"},
    defines={"PULLED": False},
)


class PointsStyle(Params):
    """How points look. A sphere of radius `size` stands around each position."""

    colormap: str = choice("inferno", COLORMAPS, doc="colors of a scalar color")
    colormap_flip: bool = switch(False, doc="reverse the colormap")
    range: tuple[float, float] | Literal["auto"] = interval(
        "auto", words=("auto",), doc="values at the two ends of the colormap; auto: minimum and maximum"
    )
    metallic: float = number(0.0, min=0.0, max=1.0, doc="0: dielectric, 1: metal")
    roughness: float = number(0.45, min=0.05, max=1.0, doc="0.05: polished, 1: matte")
    emissive: float = number(0.0, min=0.0, max=1.0, doc="0: lit by sun and sky, 1: emits light")
    brightness: float = number(
        4.0, min=0.0, max=1e4, slider_min=0.05, slider_max=50.0, scale="log", doc="factor of the emitted light"
    )
    min_pixels: float = number(
        1.0, min=0.5, max=16.0, doc="radius in pixels below which spheres become soft spots of the same light"
    )


class PointsLayer(ContentLayer[Drawing]):
    """One sphere for each row of `position`: an instance of a quad, on which each pixel's ray meets the sphere.

    Those too small to be seen as spheres are soft spots, which blend in the order of rows; a great many of them are
    added up instead, as if they lay at random before one another.
    """

    casts: ClassVar[bool] = True
    blends: ClassVar[bool] = True
    Style: ClassVar[type[Params]] = PointsStyle
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]] = {
        "position": AttributeSpec(True, (3,), None, "x, y, z in world space"),
        "color": AttributeSpec(
            False, (1, 3, 4), (0.72, 0.76, 0.82), "a scalar for the colormap, or sRGB, or sRGB and alpha"
        ),
        "size": AttributeSpec(False, (1,), 0.01, "radius in world units"),
    }

    def __init__(self, gpu: Gpu, name: str, style: PointsStyle):
        super().__init__(gpu, name, style)
        self._style_offset = 0
        self._splatting: PointSplatting | None = None

    def bind(self, attributes: Mapping[str, Attribute]) -> None:
        """Draw these from now on.

        Raises `LayoutError` or `ParameterError` for what cannot be drawn; what was bound before stays then.
        """
        bound = Attributes(self._gpu, self.name, self.ATTRIBUTES, attributes, "instance")
        color, size = bound.color(), bound.number("size")
        drawing = Drawing(self._gpu, RECIPE, bound)
        try:
            splatting = PointSplatting(self._gpu, self.name, drawing, STYLE.size) if adds_up(self._gpu, bound) else None
        except BaseException:
            drawing.close()
            raise
        self._take(drawing)
        self._splatting, self.reads_depth = splatting, splatting is not None
        self._color, self._size = color, size

    def prepare(self, moment: Moment | None = None) -> None:
        """Upload what is borrowed, and find the extent of the colors if it is wanted."""
        self._bound.prepare(self.style)

    def survey(self, frame: Frame) -> None:
        """Find out which are spheres, where spots are added up."""
        if self._splatting is not None:
            self._style_offset = self._gpu.uniforms.push(self._uniform())
            self._splatting.survey(frame, self.style, self._style_offset)

    def draw(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw the spheres that are large enough to be seen as such."""
        if self._splatting is None or frame.drawn != "color":
            self._style_offset = self._gpu.uniforms.push(self._uniform())
            self._record(pass_, frame, "solid")
        else:
            self._splatting.draw(pass_, frame, self.style, self._style_offset)

    def gather(self, frame: Frame) -> None:
        """Add the others up, where they are so many."""
        if self._splatting is not None:
            self._splatting.gather(frame, self.style, self._style_offset)

    def draw_over(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw the others as soft spots."""
        if self._splatting is None:
            self._record(pass_, frame, "distant")
        else:
            self._splatting.cover(pass_, frame, self.style)

    def blocks(self) -> Iterable[Block]:
        """Every block that is read when the layer is drawn."""
        return self._bound.blocks() if self._splatting is None else [*self._bound.blocks(), *self._splatting.blocks()]

    def close(self) -> None:
        """Give up the memory that the layer itself made. Idempotent."""
        super().close()
        if self._splatting is not None:
            self._splatting.close()
            self._splatting = None

    def draw_rows(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw spheres and spots as the numbers of their rows."""
        drawing, offset = self._bound, self._gpu.uniforms.push(self._uniform())
        for stage in RECIPE.stages:
            drawing.start_rows(pass_, frame, stage, self.style, offset)
            pass_.draw(4, drawing.attributes.rows)

    def _record(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame, stage: str) -> None:
        drawing = self._bound
        drawing.start(pass_, frame, stage, self.style, self._style_offset)
        pass_.draw(4, drawing.attributes.rows)

    def _uniform(self) -> bytes:
        style = self.style
        return STYLE.pack(
            *self._color,
            *((0.0, 1.0) if style.range == "auto" else style.range),
            self._size,
            style.min_pixels,
            style.metallic,
            style.roughness,
            style.emissive,
            style.brightness,
            style.range == "auto",
        )
