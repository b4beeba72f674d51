"""`MarksLayer`: points as flat marks: discs, soft sprites or single pixels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import wgpu

from ...params import Params, choice, number, switch
from ..target import handles_samples
from . import styles
from .base import Attribute, AttributeSpec, Frame, Layer
from .drawing import Drawing
from .one_sample import SoftImage
from .recipe import Recipe, Stage
from .styles import Range

SHAPES = {"disc": "triangle-strip", "sprite": "triangle-strip", "pixel": "point-list"}
RECIPES = {
    shape: Recipe(
        shader="draw/marks.wgsl",
        stages=[Stage("mark", "mark", over=shape == "sprite")],
        locations={"position": 0, "color": 1, "size": 2, "extent": 3},
        topology=topology,
        defines={"SHAPE": shape, "SOFT": False},
    )
    for shape, topology in SHAPES.items()
}
SOFT = replace(RECIPES["sprite"], depth=True, defines={"SHAPE": "sprite", "SOFT": True})


class MarksStyle(Params):
    """The style of marks."""

    shape: str = choice(
        "disc", tuple(SHAPES), doc="discs that face the camera, soft sprites with blending, or single pixels"
    )
    pixels: bool = switch(False, doc="sizes are in pixels instead of world units")
    colormap: str = styles.colormap("viridis")
    colormap_flip: bool = styles.COLORMAP_FLIP
    range: Range = styles.color_range()
    brightness: float = styles.brightness()
    tone_map: str = styles.TONE_MAP
    glow: float = number(0.0, min=0.0, max=1.0, doc="of sprites; 0: alpha blending, 1: additive blending")
    hardness: float = number(0.0, min=0.0, max=1.0, doc="of sprites; 0: fades from the center, 1: only near the edge")


class MarksDrawing(Drawing):
    """A quad or a point for each row."""

    rebuilds = ("shape",)

    def build(self, values: Mapping[str, Attribute]) -> None:
        self.bind_rows(values, MarksLayer.ATTRIBUTES)
        self._size = self.attributes.number("size")
        is_soft = self.style.shape == "sprite" and handles_samples(self.gpu)
        self.create(SOFT if is_soft else RECIPES[self.style.shape], [self.attributes])
        self._image = SoftImage(self.gpu) if is_soft else None
        self.reads_depth = self.surveys = is_soft

    def gather(self, frame: Frame) -> None:
        """Draw sprites into an image of their own, with one sample per pixel."""
        if self._image is not None:
            soft = replace(frame, drawn="soft")
            self._image.record(frame, lambda pass_: self._draw(pass_, soft, self.over))

    def draw_over(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw that image over the others, or sprites themselves."""
        if self._image is not None:
            self._image.cover(pass_, frame.colors, self.display_referred)
        else:
            super().draw_over(pass_, frame)

    def draw_call(self, pass_: wgpu.GPURenderPassEncoder) -> None:
        pass_.draw(1 if self._recipe is RECIPES["pixel"] else 4, self.attributes.rows)

    def uniform(self) -> dict[str, Any]:
        return {"size": self._size, "in_pixels": self.style.pixels}


class MarksLayer(Layer):
    """A flat mark of one color for each row of `position`. A row that is not finite is not drawn.

    Discs and pixels are solid; sprites blend in the order of their rows.
    """

    Style = MarksStyle
    DRAWING = MarksDrawing
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]] = {
        "position": styles.POSITION,
        "color": styles.color_attribute(styles.BLUE_GRAY),
        "size": AttributeSpec(False, (1,), 0.01, "radius; ignored for single pixels"),
    }
