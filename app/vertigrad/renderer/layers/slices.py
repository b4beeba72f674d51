"""`SlicesLayer`: slices through samples on a grid, across its axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import wgpu

from ...params import choice, number, vector
from . import styles
from .base import Attribute, AttributeSpec, Layer
from .box import BoxStyle
from .field import FieldDrawing
from .recipe import Recipe, Stage
from .styles import Range

INTERPOLATIONS = ("linear", "cubic")
AXES = ("xyz", "xy", "xz", "yz", "x", "y", "z")
RECIPE = Recipe(shader="draw/slices.wgsl", stages=[Stage("slice", "slice")])


class SlicesStyle(BoxStyle):
    """The slices, their colors, and the box of the grid."""

    across: str = choice("xyz", AXES, doc="axes across which there is a slice")
    at: tuple[float, ...] = vector(
        (0.5, 0.5, 0.5), min=0.0, max=1.0, slider_min=0.0, slider_max=1.0, doc="positions, as fractions of the box"
    )
    colormap: str = styles.colormap("gray")
    colormap_flip: bool = styles.COLORMAP_FLIP
    range: Range = styles.color_range()
    interpolation: str = choice(
        "linear", INTERPOLATIONS, doc="values between samples; cubic: a B-spline, with smooth contours near the samples"
    )
    hidden_below: float = number(0.0, min=0.0, max=1.0, doc="fraction of the range below which nothing is drawn")
    brightness: float = styles.brightness()
    tone_map: str = styles.TONE_MAP


class SlicesDrawing(FieldDrawing):
    """Three rectangles, whose pixels are interpolated between samples."""

    def build(self, values: Mapping[str, Attribute]) -> None:
        self.bind_fields(values, SlicesLayer.ATTRIBUTES, "values")
        samples = self.fields["values"].tensor
        self.add_extent(self.extent_of(samples))
        self.create_fields(RECIPE, [samples])

    def draw_call(self, pass_: wgpu.GPURenderPassEncoder) -> None:
        pass_.draw(18)

    def uniform(self) -> dict[str, Any]:
        shown = tuple(float(axis in self.style.across) for axis in "xyz")
        return super().uniform() | {"shown": shown, "smooth_values": float(self.style.interpolation == "cubic")}


class SlicesLayer(Layer):
    """A rectangle across each axis, with the values there by the colormap. A click shows the value at a point."""

    Style = SlicesStyle
    DRAWING = SlicesDrawing
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]] = {
        "values": AttributeSpec(True, (1,), None, "samples on a grid (nz, ny, nx)"),
    }
