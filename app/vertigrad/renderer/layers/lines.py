"""`LinesLayer`: lines from row to row, with a width in pixels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import wgpu

from ...errors import LayoutError
from ...params import Params, switch
from ...tensor import Tensor
from ..quality import LOW
from . import styles
from .attributes import Attributes, Bound
from .base import Attribute, AttributeSpec, Frame, Layer
from .drawing import Drawing
from .recipe import Recipe, Stage
from .styles import Range

LINE, THIN = Stage("line", "line"), Stage("thin", "thin", over=True, rows=False)
RECIPE = Recipe(
    shader="draw/lines.wgsl",
    stages=[LINE, THIN],
    locations={
        **{"position": 0, "color": 1, "width": 2, "extent": 3},
        **{"position_end": 4, "color_end": 5, "width_end": 6},
    },
    defines={"TRAILS": False},
)


class LinesStyle(Params):
    """The style of lines."""

    colormap: str = styles.colormap("viridis")
    colormap_flip: bool = styles.COLORMAP_FLIP
    range: Range = styles.color_range()
    brightness: float = styles.brightness(doc="factor of the color; not of tubes")
    tone_map: str = styles.TONE_MAP
    tube: bool = switch(False, doc="draw lit tubes that cast shadows, with widths in world units")
    roughness: float = styles.roughness(0.4, "of tubes; 0.05: polished, 1: matte")


class LinesDrawing(Drawing):
    """A segment from each row to the next."""

    def build(self, values: Mapping[str, Attribute], *others: Tensor) -> None:
        self.bind_rows(values, LinesLayer.ATTRIBUTES)
        self._width = self.attributes.number("width")
        position = self.attributes.tensors["position"].tensor
        if len(position.shape) < 2 or position.shape[-2] < 2:
            raise LayoutError(
                f"layer {self.name!r}: position {position.name!r} has the shape {position.shape}: a line needs two rows"
            )
        self._row_count, self._same_width = position.shape[-2], "width" not in self.attributes.tensors
        pieces = self._pieces(self.attributes)
        self._piece_count = pieces.rows
        self.extend(pieces)
        self.create(RECIPE, [pieces], others=others)

    @property
    def is_display_referred(self) -> bool:
        """Lines are display-referred, but lit tubes are not."""
        return not self.style.tube and super().is_display_referred

    def restyle(self) -> None:
        """Skip the stage of lines that are thinner than a pixel where there are none."""
        super().restyle()
        may_be_thin = self.style.tube or self._width * LOW.scale < 1.0 or not self._same_width
        self.over = [THIN] if may_be_thin else []

    def draw(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw the segments. Only tubes cast shadows: other lines emit light and have no width in the world."""
        if frame.drawn != "depth" or self.style.tube:
            super().draw(pass_, frame)

    def draw_call(self, pass_: wgpu.GPURenderPassEncoder) -> None:
        pass_.draw(6, self._piece_count)

    def uniform(self) -> dict[str, Any]:
        return {"width": self._width, "rows": self._row_count, "head": 0, "slots": 1, "filled": 0}

    def _pieces(self, attributes: Attributes) -> Attributes:
        """Each attribute twice: of the row where a segment starts, and of the next one, where it ends."""
        values: dict[str, Attribute] = {}
        specs: dict[str, AttributeSpec] = {}
        for name, one in attributes.tensors.items():
            if name != "extent":
                rows = self.hold(_in_a_row(one))
                spec = AttributeSpec(False, (one.layout.components,), None, "")
                for key, part in ((name, slice(None, -1)), (f"{name}_end", slice(1, None))):
                    values[key], specs[key] = self.hold(rows[part]), spec
        return Attributes(self.gpu, self.name, specs, values, "instance")


class LinesLayer(Layer):
    """A line through the rows of `position`: one if its shape is (n, 3), one for each but the last axes if it has more.

    Segments with an end that is not finite are not drawn, so a NaN interrupts a line.
    """

    casts = True
    Style = LinesStyle
    DRAWING = LinesDrawing
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]] = {
        "position": AttributeSpec(
            True, (3,), None, "x, y, z in world space; shape (lines, rows of each, 3), or (rows, 3)"
        ),
        "color": styles.color_attribute(styles.BLUE_GRAY),
        "width": AttributeSpec(False, (1,), 2.0, "width in pixels; of tubes in world units"),
    }


def _in_a_row(bound: Bound) -> Tensor:
    """A view with one axis of rows; the layout has checked that they are evenly spaced."""
    tensor, layout = bound.tensor, bound.layout
    with_axis = math.prod(tensor.shape[:-1]) == layout.rows and tensor.shape[-1] == layout.components
    return tensor.reshape(layout.rows, layout.components) if with_axis else tensor.reshape(layout.rows)
