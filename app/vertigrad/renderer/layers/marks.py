"""`MarksLayer`: points as flat marks: discs, soft sprites or single pixels."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import ClassVar, Literal

import wgpu

from ...params import Params, choice, interval, number, switch
from ..colormap import COLORMAPS
from ..moment import Moment
from .attributes import Attributes
from .base import Attribute, AttributeSpec, Frame
from .content import ContentLayer
from .drawing import Drawing, Recipe
from .field import ends

STYLE = struct.Struct("<4f2f6f")  # `Style` in shaders/draw/marks.wgsl
SHAPES = {"disc": "triangle-strip", "sprite": "triangle-strip", "pixel": "point-list"}
RECIPES = {
    shape: Recipe(
        shader="draw/marks.wgsl",
        stages={"mark": shape == "sprite"},
        locations={"position": 0, "color": 1, "size": 2, "extent": 3},
        style_size=STYLE.size,
        primitive={"topology": topology},
        defines={"SHAPE": shape},
    )
    for shape, topology in SHAPES.items()
}


class MarksStyle(Params):
    """How marks look."""

    shape: str = choice(
        "disc", tuple(SHAPES), doc="discs that face the camera, soft sprites with blending, or single pixels"
    )
    pixels: bool = switch(False, doc="sizes are in pixels instead of world units")
    colormap: str = choice("viridis", COLORMAPS, doc="colors of a scalar color")
    colormap_flip: bool = switch(False, doc="reverse the colormap")
    range: tuple[float, float] | Literal["auto"] = interval(
        "auto", words=("auto",), doc="values at the two ends of the colormap; auto: minimum and maximum"
    )
    brightness: float = number(
        1.0, min=0.0, max=1e4, slider_min=0.05, slider_max=50.0, scale="log", doc="factor of the color"
    )
    tone_mapped: bool = switch(False, doc="apply exposure, tone mapping and bloom")
    glow: float = number(0.0, min=0.0, max=1.0, doc="of sprites; 0: alpha blending, 1: additive blending")
    hardness: float = number(0.0, min=0.0, max=1.0, doc="of sprites; 0: fades from the center, 1: only near the edge")


class MarksLayer(ContentLayer[Drawing]):
    """A flat mark of one color for each row of `position`. A row that is not finite is not drawn.

    Discs and pixels are solid; sprites blend in the order of their rows.
    """

    Style: ClassVar[type[Params]] = MarksStyle
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]] = {
        "position": AttributeSpec(True, (3,), None, "x, y, z in world space"),
        "color": AttributeSpec(
            False, (1, 3, 4), (0.72, 0.76, 0.82), "a scalar for the colormap, or sRGB, or sRGB and alpha"
        ),
        "size": AttributeSpec(False, (1,), 0.01, "radius; ignored for single pixels"),
    }

    def bind(self, attributes: Mapping[str, Attribute]) -> None:
        """Draw these from now on.

        Raises `LayoutError` or `ParameterError` for what cannot be drawn; what was bound before stays then.
        """
        bound = Attributes(self._gpu, self.name, self.ATTRIBUTES, attributes, "instance")
        color, size = bound.color(), bound.number("size")
        self._take(Drawing(self._gpu, RECIPES[self.style.shape], bound))
        self._color, self._size = color, size
        self._given, self._shape = attributes, self.style.shape

    def prepare(self, moment: Moment | None = None) -> None:
        """Take another shape if the style has one, and find the extent of the colors if it is wanted."""
        if self._shape != self.style.shape:
            self.bind(self._given)
        self._bound.prepare(self.style)

    def draw(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw discs and pixels."""
        if self._shape != "sprite":
            self._record(pass_, frame, rows=False)

    def draw_over(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw sprites."""
        if self._shape == "sprite":
            self._record(pass_, frame, rows=False)

    def draw_rows(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw the marks as the numbers of their rows."""
        self._record(pass_, frame, rows=True)

    @property
    def display_referred(self) -> bool:
        """Unless the style makes light of the colors."""
        return not self.style.tone_mapped

    def _record(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame, rows: bool) -> None:
        drawing = self._bound
        offset = self._gpu.uniforms.push(self._uniform())
        if rows:
            drawing.start_rows(pass_, frame, "mark", self.style, offset)
        else:
            drawing.start(pass_, frame, "mark", self.style, offset, self.display_referred)
        pass_.draw(1 if self._shape == "pixel" else 4, drawing.attributes.rows)

    def _uniform(self) -> bytes:
        style = self.style
        looks = (*self._color, *ends(style.range), style.range == "auto", self._size, style.pixels, style.brightness)
        return STYLE.pack(*looks, style.glow, style.hardness)
