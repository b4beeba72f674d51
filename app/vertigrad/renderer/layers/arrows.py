"""`ArrowsLayer`: a field of vectors, an arrow for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Literal

from ...errors import ParameterError
from ...params import Params, choice, interval, number, switch
from ..colormap import COLORMAPS
from .attributes import Attributes
from .base import Attribute, AttributeSpec
from .field import ends
from .instances import RECIPE, STYLE
from .meshes import Meshes, MeshesLayer

ARROWS = replace(RECIPE, defines={"ARROW": True})
ANCHORS = {"tail": 0.0, "middle": 0.5, "tip": 1.0}


class ArrowsStyle(Params):
    """How arrows look."""

    colormap: str = choice("batlow", COLORMAPS, doc="colors of a scalar color")
    colormap_flip: bool = switch(False, doc="reverse the colormap")
    range: tuple[float, float] | Literal["auto"] = interval(
        "auto", words=("auto",), doc="values at the two ends of the colormap; auto: minimum and maximum"
    )
    metallic: float = number(0.0, min=0.0, max=1.0, doc="0: dielectric, 1: metal")
    roughness: float = number(0.5, min=0.05, max=1.0, doc="0.05: polished, 1: matte")
    scale: float = number(
        0.1,
        min=0.0,
        max=1e12,
        slider_min=1e-3,
        slider_max=10.0,
        scale="log",
        doc="length per unit of the direction",
    )
    max_length: float = number(
        1e12, min=0.0, max=1e12, slider_min=1e-2, slider_max=10.0, scale="log", doc="maximum length, in world units"
    )
    normalize: bool = switch(False, doc="give all arrows the length of a unit vector")
    thickness: float = number(0.045, min=0.002, max=0.3, doc="radius of the shaft, as a fraction of the length")
    head: float = number(0.36, min=0.05, max=1.0, doc="length of the head, as a fraction of the length")
    anchor: str = choice("tail", tuple(ANCHORS), doc="the part of the arrow that is at its position")


class ArrowsLayer(MeshesLayer):
    """An arrow for each row of `position`, along `direction`. A row without a finite length is not drawn."""

    casts: ClassVar[bool] = True
    blends: ClassVar[bool] = True
    Style: ClassVar[type[Params]] = ArrowsStyle
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]] = {
        "position": AttributeSpec(True, (3,), None, "x, y, z in world space"),
        "direction": AttributeSpec(True, (3,), None, "the vector"),
        "color": AttributeSpec(
            False, (1, 3, 4), (0.72, 0.76, 0.82), "a scalar for the colormap, or sRGB, or sRGB and alpha"
        ),
    }

    def bind(self, attributes: Mapping[str, Attribute]) -> None:
        """Draw these from now on.

        Raises `LayoutError` or `ParameterError` for what cannot be drawn; what was bound before stays then.
        """
        bound = Attributes(self._gpu, self.name, self.ATTRIBUTES, attributes, "instance")
        if "direction" in bound.constants:
            raise ParameterError(f"layer {self.name!r}: direction must be a tensor, in each row the vector")
        color = bound.color()
        meshes = Meshes(self._gpu, self.name, ARROWS, bound, {}, "arrow")
        self._take(meshes)
        self._color = color

    def _uniform(self) -> bytes:
        style = self.style
        looks = (*self._color, *ends(style.range), style.metallic, style.roughness)
        form = (style.scale, style.head, style.thickness)
        return STYLE.pack(
            *looks, *form, style.range == "auto", style.max_length, style.normalize, ANCHORS[style.anchor]
        )
