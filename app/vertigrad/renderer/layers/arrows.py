"""`ArrowsLayer`: a field of vectors, an arrow for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from ...params import choice, number, switch
from ...tensor import Tensor
from . import styles
from .base import Attribute, AttributeSpec, Layer
from .meshes import RECIPE, MeshesDrawing

ARROWS = replace(RECIPE, defines={"ARROW": True})
ANCHORS = {"tail": 0.0, "middle": 0.5, "tip": 1.0}


class ArrowsStyle(styles.LitStyle):
    """The style of arrows."""

    scale: float = styles.length(0.1, 1e-3, 10.0, "length per unit of the direction", min=0.0)
    max_length: float = styles.length(1e12, 1e-2, 10.0, "maximum length, in world units", min=0.0)
    normalize: bool = switch(False, doc="give all arrows the length of a unit vector")
    thickness: float = number(0.045, min=0.002, max=0.3, doc="radius of the shaft, as a fraction of the length")
    head: float = number(0.36, min=0.05, max=1.0, doc="length of the head, as a fraction of the length")
    anchor: str = choice("tail", tuple(ANCHORS), doc="the part of the arrow that is at its position")


class ArrowsDrawing(MeshesDrawing):
    """An arrow for each row."""

    def build(self, values: Mapping[str, Attribute], *others: Tensor) -> None:
        self.bind_rows(values, ArrowsLayer.ATTRIBUTES)
        self.create_meshes(ARROWS, self.attributes, {}, "arrow", *others)

    def uniform(self) -> dict[str, Any]:
        style = self.style
        return {"size": (style.scale, style.head, style.thickness), "anchor": ANCHORS[style.anchor]}


class ArrowsLayer(Layer):
    """An arrow for each row of `position`, along `direction`. A row without a finite length is not drawn."""

    casts = True
    blends = True
    Style = ArrowsStyle
    DRAWING = ArrowsDrawing
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]] = {
        "position": styles.POSITION,
        "direction": AttributeSpec(True, (3,), None, "the vector"),
        "color": styles.color_attribute(styles.BLUE_GRAY),
    }
