"""`PointsLayer`: points as lit or glowing spheres."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import wgpu

from ...memory import Block
from ...params import number
from . import styles
from .base import Attribute, AttributeSpec, Frame, Layer
from .drawing import Drawing
from .point_splatting import PointSplatting, adds_up, corners_of
from .recipe import Recipe, Stage

RECIPE = Recipe(
    shader="draw/points.wgsl",
    stages=[Stage("solid", "solid"), Stage("distant", "distant", over=True)],
    locations={"position": 0, "color": 1, "size": 2, "extent": 3},
    topology="triangle-strip",
    deferred=True,
    defines={"PULLED": False},
)


class PointsStyle(styles.LitStyle):
    """The style of points: spheres of radius `size` around each position."""

    colormap: str = styles.colormap("inferno")
    roughness: float = styles.roughness(0.45)
    emissive: float = styles.EMISSIVE
    brightness: float = styles.brightness(4.0, "factor of the emitted light")
    min_pixels: float = number(
        1.0, min=0.5, max=16.0, doc="radius in pixels below which spheres become soft spots of the same light"
    )
    size_variation: float = number(
        0.0, min=0.0, max=0.9, doc="random variation of the radius from row to row, relative to it: grains of sand"
    )
    color_variation: float = number(
        0.0, min=0.0, max=0.9, doc="random variation of the brightness of the color, relative to it"
    )


class PointsDrawing(Drawing):
    """A quad or a triangle for each row; if there are many rows, small points are added up by compute shaders."""

    skips_hidden = True

    def build(self, values: Mapping[str, Attribute]) -> None:
        self.bind_rows(values, PointsLayer.ATTRIBUTES)
        self._size = self.attributes.number("size")
        self._corners = corners_of(self.gpu)
        self.create(RECIPE, [self.attributes], defines={"CORNERS": self._corners})
        self.splatting: PointSplatting | None = None
        if adds_up(self.gpu, self.attributes):
            self.splatting = self.hold(PointSplatting(self))
        self.reads_depth = self.surveys = self.splatting is not None

    @property
    def is_deferred(self) -> bool:
        """Spheres that emit light are not."""
        return self.style.emissive == 0.0 and super().is_deferred

    def survey(self, frame: Frame) -> None:
        """With splatting, determine which rows are drawn as spheres."""
        if self.splatting is not None:
            self._offset = self.push()
            self.splatting.survey(frame, self._offset)

    def draw(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw the points that are large enough as spheres."""
        if self.splatting is None or frame.drawn not in ("color", "gbuffer"):
            super().draw(pass_, frame)
        else:
            self.splatting.draw(pass_, frame, self._offset)

    def gather(self, frame: Frame) -> None:
        """With splatting, add up the other points."""
        if self.splatting is not None:
            self.splatting.gather(frame, self._offset)

    def draw_over(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw the other points as soft sprites."""
        if self.splatting is None:
            super().draw_over(pass_, frame)
        else:
            self.splatting.cover(pass_, frame)

    def blocks(self) -> list[Block]:
        blocks = super().blocks()
        return blocks if self.splatting is None else [*blocks, *self.splatting.blocks()]

    def draw_call(self, pass_: wgpu.GPURenderPassEncoder) -> None:
        pass_.draw(self._corners, self.attributes.rows)

    def uniform(self) -> dict[str, Any]:
        return {"size": self._size}


class PointsLayer(Layer):
    """One sphere for each row of `position`: an instance of a quad, whose pixels are intersected with the sphere.

    Spheres that are too small on the screen are drawn as soft sprites, which blend in the order of rows. If there are
    very many rows, they are added up instead, as if their order in depth were random.
    """

    casts = True
    blends = True
    Style = PointsStyle
    DRAWING = PointsDrawing
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]] = {
        "position": styles.POSITION,
        "color": styles.color_attribute(styles.BLUE_GRAY),
        "size": AttributeSpec(False, (1,), 0.01, "radius in world units"),
    }
