"""`SurfaceLayer`: a surface of triangles, lit on both sides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import wgpu

from ...errors import LayoutError
from ...params import choice, number
from ...tensor import Tensor
from ..target import LEAST_ALPHA
from . import styles
from .base import Attribute, AttributeSpec, Frame, Layer
from .meshes import IndexedDrawing, checked_index, draw_cells
from .recipe import Recipe, Stage
from .shapes import grid_triangles

HEIGHT = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}  # by the axis of contour lines
RECIPE = Recipe(
    shader="draw/surface.wgsl",
    stages=[Stage("surface", "surface")],
    locations={"position": 0, "color": 1, "normal": 2, "extent": 3},
    deferred=True,
)


class SurfaceStyle(styles.LitStyle):
    """The style of a surface."""

    roughness: float = styles.roughness(0.7)
    contours: float = number(
        0.0,
        min=0.0,
        slider_max=1.0,
        doc="interval between contour lines of a scalar color, else of the height; 0: none",
    )
    contour_axis: str = choice("y", tuple(HEIGHT), doc="axis along which height is measured for contour lines")
    contour_strength: float = number(0.45, min=0.0, max=1.0, doc="opacity of contour lines")
    contour_width: float = number(1.2, min=0.5, max=8.0, unit="pixels", doc="width of contour lines")


class SurfaceDrawing(IndexedDrawing):
    """Triangles between rows."""

    def build(self, values: Mapping[str, Attribute]) -> None:
        self.bind_rows(values, SurfaceLayer.ATTRIBUTES, excluded=("index",), step_mode="vertex")
        index = values.get("index")
        if index is None:
            size = self._grid_size(self.attributes.tensors["position"].tensor)
            self.index = self.hold(Tensor.from_numpy(grid_triangles(*size), name=f"{self.name}.index"))
        else:
            self.index = checked_index(self.name, index)
            self.reported["index"] = self.report_index
        self.create(RECIPE, [self.attributes], others=[self.index])

    def draw_rows(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw the triangles with the indices of their nearest corners, unless the surface is almost transparent."""
        if self.color[3] >= LEAST_ALPHA:
            draw_cells(self.gpu, pass_, frame, self.attributes.tensors["position"], self.index)

    def uniform(self) -> dict[str, Any]:
        return {"height": HEIGHT[self.style.contour_axis]}

    def _grid_size(self, position: Tensor) -> tuple[int, ...]:
        size = position.shape[:-1]
        if len(size) != 2 or min(size) < 2:
            raise LayoutError(
                f"layer {self.name!r}: position {position.name!r} has the shape {position.shape}, which is not a grid "
                "(h, w, 3); bind index, three rows of position for each triangle"
            )
        return size


class SurfaceLayer(Layer):
    """Triangles between the rows of `position`: those of a grid if its shape is (h, w, 3), else those of `index`."""

    casts = True
    blends = True
    Style = SurfaceStyle
    DRAWING = SurfaceDrawing
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]] = {
        "position": styles.POSITION,
        "color": styles.color_attribute(styles.WARM_GRAY),
        "normal": AttributeSpec(
            False, (3,), None, "normals; without them triangles are shaded flat", without="flat triangles"
        ),
        "index": AttributeSpec(False, (1, 3), None, "three rows of position for each triangle"),
    }
