"""`SurfaceLayer`: a surface of triangles, lit on both sides."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

import wgpu

from ...errors import LayoutError, ParameterError
from ...gpu import Gpu
from ...memory import Block
from ...params import Params, choice, interval, number, switch
from ...tensor import Tensor
from ..colormap import COLORMAPS
from ..moment import Moment
from ..rows import LEAST_ALPHA
from .attributes import Attributes
from .base import Attribute, AttributeSpec, Frame, Layer
from .cells import draw_cells
from .drawing import Drawing, Recipe
from .grid import grid_triangles
from .indexed import checked_index

STYLE = struct.Struct("<16f")  # `Style` in shaders/draw/surface.wgsl
RECIPE = Recipe(
    shader="draw/surface.wgsl",
    stages={"surface": False},
    locations={"position": 0, "color": 1, "normal": 2, "extent": 3},
    style_size=STYLE.size,
    primitive={"topology": "triangle-list", "cull_mode": "none"},
)
HEIGHT = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


class SurfaceStyle(Params):
    """How a surface looks."""

    colormap: str = choice("batlow", COLORMAPS, doc="colors of a scalar color")
    colormap_flip: bool = switch(False, doc="reverse the colormap")
    range: tuple[float, float] | Literal["auto"] = interval(
        "auto", words=("auto",), doc="values at the two ends of the colormap; auto: minimum and maximum"
    )
    metallic: float = number(0.0, min=0.0, max=1.0, doc="0: dielectric, 1: metal")
    roughness: float = number(0.7, min=0.05, max=1.0, doc="0.05: polished, 1: matte")
    contours: float = number(
        0.0,
        min=0.0,
        slider_max=1.0,
        doc="interval between contour lines of a scalar color, else of the height; 0: none",
    )
    contour_axis: str = choice("y", tuple(HEIGHT), doc="axis along which height is measured for contour lines")
    contour_strength: float = number(0.45, min=0.0, max=1.0, doc="opacity of contour lines")
    contour_width: float = number(1.2, min=0.5, max=8.0, unit="pixels", doc="width of contour lines")


class SurfaceLayer(Layer):
    """Triangles between the rows of `position`: those of a grid if its shape is (h, w, 3), else those of `index`."""

    casts: ClassVar[bool] = True
    blends: ClassVar[bool] = True
    Style: ClassVar[type[Params]] = SurfaceStyle
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]] = {
        "position": AttributeSpec(True, (3,), None, "x, y, z in world space"),
        "color": AttributeSpec(
            False, (1, 3, 4), (0.72, 0.70, 0.67), "a scalar for the colormap, or sRGB, or sRGB and alpha"
        ),
        "normal": AttributeSpec(False, (3,), None, "normals; without them triangles are shaded flat"),
        "index": AttributeSpec(False, (1, 3), None, "three rows of position for each triangle"),
    }

    def __init__(self, gpu: Gpu, name: str, style: SurfaceStyle):
        self.name = name
        self.style = style
        self._gpu = gpu
        self._drawing: Drawing | None = None
        self._given: Tensor | None = None
        self._grid: Tensor | None = None
        self._grid_size: tuple[int, ...] = ()

    def bind(self, attributes: Mapping[str, Attribute]) -> None:
        """Draw these from now on.

        Raises `LayoutError` or `ParameterError` for what cannot be drawn; what was bound before stays then.
        """
        bound = Attributes(self._gpu, self.name, self.ATTRIBUTES, attributes, "vertex", beside=("index",))
        if "normal" in bound.constants:
            raise ParameterError(f"layer {self.name!r}: normal must be a tensor; leave it out for flat triangles")
        color = bound.color()
        given = attributes.get("index")
        index = checked_index(self.name, given) if given is not None else None
        size = () if index is not None else self._checked_grid(bound.tensors["position"].tensor)
        drawing = Drawing(self._gpu, RECIPE, bound)
        try:
            self._make_grid(size)
        except BaseException:
            drawing.close()
            raise
        self._close_drawing()
        self._drawing, self._given, self._color = drawing, index, color

    def prepare(self, moment: Moment | None = None) -> None:
        """Upload what is borrowed, and find the extent of the colors if it is wanted."""
        self._bound.prepare(self.style)
        self._gpu.make_resident(self._index.owner)

    def draw(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw the triangles."""
        index = self._index
        offset = self._gpu.uniforms.push(self._uniform())
        self._bound.start(pass_, frame, "surface", self.style, offset)
        pass_.set_index_buffer(index.block.buffer, "uint32", index.offset, index.nbytes)
        pass_.draw_indexed(index.size)

    def draw_over(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """A surface is solid throughout: nothing."""

    def draw_rows(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw the triangles as the numbers of their nearest corners. Nothing if they are all but transparent."""
        if self._color[3] >= LEAST_ALPHA:
            draw_cells(self._gpu, pass_, frame, self.attributes.tensors["position"], self._index)

    @property
    def attributes(self) -> Attributes:
        """What was bound last."""
        return self._bound.attributes

    def blocks(self) -> Iterable[Block]:
        """Every block that is read when the layer is drawn."""
        return [*self._bound.blocks(), self._index.block]

    def report(self) -> dict[str, Any]:
        """{attribute: {tensor, block, offset, stride, format}, or the constant}: as it would be drawn now."""
        report = self._bound.attributes.report()
        if self._given is not None:
            index = self._given
            place = {"block": index.block.id, "offset": index.offset, "stride": index.itemsize}
            report["index"] = {"tensor": index.name, **place, "format": "uint32"}
        return report

    def close(self) -> None:
        """Give up the memory that the layer itself made. Idempotent."""
        self._close_drawing()
        self._make_grid(())

    @property
    def _bound(self) -> Drawing:
        if self._drawing is None:
            raise RuntimeError(f"layer {self.name!r} has nothing bound; call bind first")
        return self._drawing

    @property
    def _index(self) -> Tensor:
        index = self._given if self._given is not None else self._grid
        assert index is not None, "bind sets one of them"
        return index

    def _close_drawing(self) -> None:
        if self._drawing is not None:
            self._drawing.close()
            self._drawing = None

    def _make_grid(self, size: tuple[int, ...]) -> None:
        """Make the triangles of a grid of this size, unless they are there; with no size, give them up."""
        if size == self._grid_size:
            return
        made = Tensor.from_numpy(grid_triangles(*size), name=f"{self.name}.index") if size else None
        if self._grid is not None:
            self._grid.close()
        self._grid, self._grid_size = made, size

    def _checked_grid(self, position: Tensor) -> tuple[int, ...]:
        size = position.shape[:-1]
        if len(size) != 2 or min(size) < 2:
            raise LayoutError(
                f"layer {self.name!r}: position {position.name!r} has the shape {position.shape}, which is no grid "
                "(h, w, 3); bind index, three rows of position for each triangle"
            )
        return size

    def _uniform(self) -> bytes:
        style = self.style
        return STYLE.pack(
            *self._color,
            *((0.0, 1.0) if style.range == "auto" else style.range),
            style.metallic,
            style.roughness,
            style.contours,
            style.contour_strength,
            style.contour_width,
            style.range == "auto",
            *HEIGHT[style.contour_axis],
            0.0,
        )
