"""`IsosurfaceLayer`: the surface where samples on a grid have one value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import wgpu

from ...errors import LimitError
from ...gpu import Kernel, Plan
from ...params import Params, number
from ...tensor import Tensor
from ..moment import Moment
from ..target import LEAST_ALPHA
from . import styles
from .base import Attribute, AttributeSpec, Layer
from .box import BoxStyle, box_samples
from .field import FieldDrawing
from .marching import MOST, packed
from .recipe import Recipe, Stage
from .surface import HEIGHT, SurfaceStyle

CELLS_SHADER = "draw/isosurface_cells.wgsl"
VERTICES = 3 * MOST  # of a cell; those that it does not need are outside of the clip volume
FEW = 6  # of most cells
COUNTS = 2  # before the cells: how many have few vertices, and how many more
MOST_CELLS = 1 << 24  # their indices have 24 bits
RECIPE = Recipe(
    shader="draw/isosurface.wgsl",
    stages=[Stage("isosurface", "isosurface")],
    defines={"VERTICES": VERTICES, "FEW": FEW},
    deferred=True,
    slim_depth=True,
)


class LevelStyle(Params):
    """The value of an isosurface."""

    level: float = number(0.0, slider_min=-1.0, slider_max=1.0, doc="value on the surface")


class IsosurfaceStyle(SurfaceStyle, BoxStyle, LevelStyle):
    """The style of an isosurface, and the box of its grid."""

    samples: str = box_samples("nodes")
    roughness: float = styles.roughness(0.5)


class IsosurfaceDrawing(FieldDrawing):
    """The cells that the surface passes through, and the indirect draw of their triangles: `size`."""

    plans_extent = True
    skips_hidden = True

    def build(self, values: Mapping[str, Attribute]) -> None:
        self.bind_fields(values, IsosurfaceLayer.ATTRIBUTES, "values")
        samples = self.fields["values"]
        x, y, z = (n - 1 for n in samples.size)
        self._count = x * y * z
        if self._count > MOST_CELLS:
            raise LimitError(
                f"layer {self.name!r}: values {samples.tensor.name!r} has {self._count:,} cells; an isosurface takes "
                f"{MOST_CELLS:,}: draw a part, or every other sample ([::2, ::2, ::2])"
            )
        self.add_color_extent()
        self._cells = self.hold(Tensor.empty(COUNTS + self._count, "u32", name=f"{self.name}.cells"))
        self.size = self.hold(Tensor.empty(4, "u32", name=f"{self.name}.draw"))
        self._kinds = self.hold(Tensor.from_numpy(packed(), name=f"{self.name}.kinds"))
        self.create_fields(RECIPE, [samples.tensor, self._cells, self._kinds], self.size)
        if self.color[3] < LEAST_ALPHA:
            self.rows = []  # a surface has no rows: it only hides those behind it

    def compute(self, moment: Moment | None) -> None:
        """Find the cells, and the extent of the colors if the range is automatic."""
        self.plan.update(level=self.style.level)

    def record(self, plan: Plan) -> None:
        begin, find = (Kernel.load(CELLS_SHADER, entry, RECIPE.defines) for entry in ("begin", "find"))
        values = self.fields["values"]
        plan.dispatch(begin, 1, overwrites=("draw", "cells"), draw=self.size, cells=self._cells)
        plan.dispatch(
            find,
            self._count,
            values=values.tensor,
            cells=self._cells,
            draw=self.size,
            kinds=self._kinds,
            values_size=values.size,
            values_strides=values.strides,
        )

    def draw_call(self, pass_: wgpu.GPURenderPassEncoder) -> None:
        pass_.draw_indirect(self.size.block.buffer, self.size.offset)

    def uniform(self) -> dict[str, Any]:
        return super().uniform() | {"height": HEIGHT[self.style.contour_axis]}


class IsosurfaceLayer(Layer):
    """Marching cubes, computed in each frame. The number of triangles is known on the GPU only."""

    casts = True
    blends = True
    Style = IsosurfaceStyle
    DRAWING = IsosurfaceDrawing
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]] = {
        "values": AttributeSpec(True, (1,), None, "samples on a grid (nz, ny, nx)"),
        "color": styles.field_color(styles.WARM_GRAY),
    }
