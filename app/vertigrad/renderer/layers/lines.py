"""`LinesLayer`: lines from row to row, with a width in pixels."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import Any, ClassVar, Literal

import wgpu

from ...errors import LayoutError
from ...gpu import Gpu, Plan
from ...memory import Block
from ...params import Params, choice, interval, number, switch
from ...tensor import Tensor
from ..colormap import COLORMAPS
from ..moment import Moment
from ..quality import LOW
from .attributes import Attributes, Bound
from .base import Attribute, AttributeSpec, Frame, Layer
from .drawing import Drawing, Recipe
from .field import ends

STYLE = struct.Struct("<4f2f5f4I4x")  # `Style` in shaders/draw/lines.wgsl
RECIPE = Recipe(
    shader="draw/lines.wgsl",
    stages={"line": False, "thin": True},
    locations={
        **{"position": 0, "color": 1, "width": 2, "extent": 3},
        **{"position_end": 4, "color_end": 5, "width_end": 6},
    },
    style_size=STYLE.size,
    primitive={"topology": "triangle-list"},
    defines={"TRAILS": False},
)


class LinesStyle(Params):
    """How lines look."""

    colormap: str = choice("viridis", COLORMAPS, doc="colors of a scalar color")
    colormap_flip: bool = switch(False, doc="reverse the colormap")
    range: tuple[float, float] | Literal["auto"] = interval(
        "auto", words=("auto",), doc="values at the two ends of the colormap; auto: minimum and maximum"
    )
    brightness: float = number(
        1.0,
        min=0.0,
        max=1e4,
        slider_min=0.05,
        slider_max=50.0,
        scale="log",
        doc="factor of the color; not of tubes",
    )
    tone_mapped: bool = switch(False, doc="apply exposure, tone mapping and bloom")
    tube: bool = switch(False, doc="draw lit tubes that cast shadows, with widths in world units")
    roughness: float = number(0.4, min=0.05, max=1.0, doc="of tubes; 0.05: polished, 1: matte")


class LinesLayer(Layer):
    """A line through the rows of `position`: one if its shape is (n, 3), one for each but the last axes if it has more.

    Pieces with an end that is not finite are not drawn, so a NaN interrupts a line.
    """

    casts: ClassVar[bool] = True
    Style: ClassVar[type[Params]] = LinesStyle
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]] = {
        "position": AttributeSpec(
            True, (3,), None, "x, y, z in world space; shape (lines, rows of each, 3), or (rows, 3)"
        ),
        "color": AttributeSpec(
            False, (1, 3, 4), (0.72, 0.76, 0.82), "a scalar for the colormap, or sRGB, or sRGB and alpha"
        ),
        "width": AttributeSpec(False, (1,), 2.0, "width in pixels; of tubes in world units"),
    }

    def __init__(self, gpu: Gpu, name: str, style: LinesStyle):
        self.name = name
        self.style = style
        self._gpu = gpu
        self._attributes: Attributes | None = None
        self._drawing: Drawing | None = None
        self._style_offset = 0
        self._packed: tuple[Any, bytes] = (), b""  # the style's uniform, and the values it was made of
        self._held = ExitStack()

    def bind(self, attributes: Mapping[str, Attribute]) -> None:
        """Draw these from now on.

        Raises `LayoutError` or `ParameterError` for what cannot be drawn; what was bound before stays then.
        """
        bound = Attributes(self._gpu, self.name, self.ATTRIBUTES, attributes, "instance")
        color, width = bound.color(), bound.number("width")
        position = bound.tensors["position"].tensor
        if len(position.shape) < 2 or position.shape[-2] < 2:
            raise LayoutError(
                f"layer {self.name!r}: position {position.name!r} has the shape {position.shape}: a line needs two rows"
            )
        with ExitStack() as stack:  # closes what was made if something that follows cannot be
            pieces = self._pieces(bound, stack)
            drawing = Drawing(self._gpu, RECIPE, pieces, scalars=bound.tensors.get("color"))
            stack.callback(drawing.close)
            if "extent" in pieces.tensors:  # for who tells the range of the colormap
                extent = stack.enter_context(pieces.tensors["extent"].tensor[:1])
                bound.add("extent", stack.enter_context(extent.expand(bound.rows, 2)), (2,))
            held = stack.pop_all()
        self.close()
        self._attributes, self._drawing, self._held = bound, drawing, held
        self._color, self._width, self._rows = color, width, position.shape[-2]
        self._packed = (), b""

    def prepare(self, moment: Moment | None = None) -> None:
        """Upload what is borrowed, and find the extent of the colors if it is wanted."""
        self._bound.prepare(self.style)

    def find_extent(self, plan: Plan, style: LinesStyle) -> None:
        """Leave it to `plan`, which makes what is drawn, to find the extent of the colors, if it is wanted."""
        if style.range == "auto":
            self._bound.find_extent(plan)

    def draw(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw the pieces. What is no tube shines by itself and has no width in the world: it throws no shadows."""
        if frame.drawn == "depth" and not self.style.tube:
            return
        self._style_offset = self._gpu.uniforms.push(self._uniform())
        drawing = self._bound
        drawing.start(pass_, frame, "line", self.style, self._style_offset, self.display_referred)
        pass_.draw(6, drawing.attributes.rows)

    def draw_over(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw what is thinner than a pixel."""
        if self.style.tube or self._width * LOW.scale < 1.0 or "width" in self.attributes.tensors:
            self._bound.start_again(pass_, frame, "thin", self._style_offset, self.display_referred)
            pass_.draw(6, self._bound.attributes.rows)

    def draw_rows(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw the pieces as the numbers of the rows at their nearer ends."""
        drawing = self._bound
        drawing.start_rows(pass_, frame, "line", self.style, self._gpu.uniforms.push(self._uniform()))
        pass_.draw(6, drawing.attributes.rows)

    @property
    def display_referred(self) -> bool:
        """Unless they are tubes, on which light falls, or the style makes light of the colors."""
        return not (self.style.tube or self.style.tone_mapped)

    @property
    def attributes(self) -> Attributes:
        """What was bound last."""
        if self._attributes is None:
            raise RuntimeError(f"layer {self.name!r} has nothing bound; call bind first")
        return self._attributes

    def blocks(self) -> Iterable[Block]:
        """Every block that is read when the layer is drawn."""
        return self._bound.blocks()

    def report(self) -> dict[str, Any]:
        """{attribute: {tensor, block, offset, stride, format}, or the constant}: as it would be drawn now."""
        return self.attributes.report()

    def close(self) -> None:
        """Give up the memory that the layer itself made. Idempotent."""
        self._held.close()
        self._attributes = self._drawing = None

    @property
    def _bound(self) -> Drawing:
        if self._drawing is None:
            raise RuntimeError(f"layer {self.name!r} has nothing bound; call bind first")
        return self._drawing

    def _pieces(self, bound: Attributes, stack: ExitStack) -> Attributes:
        """Each attribute twice: of the row where a piece starts, and of the next one, where it ends."""
        given: dict[str, Attribute] = {}
        specs: dict[str, AttributeSpec] = {}
        for name, one in bound.tensors.items():
            rows = stack.enter_context(_in_a_row(one))
            spec = AttributeSpec(False, (one.layout.components,), None, "")
            for key, part in ((name, slice(None, -1)), (f"{name}_end", slice(1, None))):
                given[key], specs[key] = stack.enter_context(rows[part]), spec
        return Attributes(self._gpu, self.name, specs, given, "instance")

    def _uniform(self) -> bytes:
        style = self.style
        key = tuple(vars(style).values())
        if key != self._packed[0]:
            looks = (*self._color, *ends(style.range), style.range == "auto", style.brightness, self._width)
            self._packed = key, STYLE.pack(*looks, style.tube, style.roughness, self._rows, 0, 1, 0)
        return self._packed[1]


def _in_a_row(bound: Bound) -> Tensor:
    """A view with one axis of rows; the layout has found that they are evenly spaced."""
    tensor, layout = bound.tensor, bound.layout
    with_axis = math.prod(tensor.shape[:-1]) == layout.rows and tensor.shape[-1] == layout.components
    return tensor.reshape(layout.rows, layout.components) if with_axis else tensor.reshape(layout.rows)
