"""`InstancesLayer`: one mesh, drawn for each row."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from ...errors import ParameterError
from ...params import Params, choice, interval, number, switch
from ..colormap import COLORMAPS
from ..moment import Moment
from .attributes import Attributes
from .base import Attribute, AttributeSpec
from .drawing import Recipe
from .field import ends
from .meshes import MESH, Meshes, MeshesLayer
from .shapes import SHAPES

STYLE = struct.Struct("<4f2f2f3f4f4x")  # `Style` in shaders/draw/instances.wgsl
LOCATIONS = {"position": 0, "color": 1, "size": 2, "extent": 3, "direction": 4, "mesh": 5, "mesh_normal": 6}
RECIPE = Recipe(
    shader="draw/instances.wgsl",
    stages={"instance": False},
    locations=LOCATIONS,
    style_size=STYLE.size,
    primitive={"topology": "triangle-list", "cull_mode": "none"},
    defines={"ARROW": False},
)


class InstancesStyle(Params):
    """How the instances of a mesh look."""

    shape: str = choice("cube", tuple(SHAPES), doc="mesh of each instance if none is bound, of radius 1")
    colormap: str = choice("batlow", COLORMAPS, doc="colors of a scalar color")
    colormap_flip: bool = switch(False, doc="reverse the colormap")
    range: tuple[float, float] | Literal["auto"] = interval(
        "auto", words=("auto",), doc="values at the two ends of the colormap; auto: minimum and maximum"
    )
    metallic: float = number(0.0, min=0.0, max=1.0, doc="0: dielectric, 1: metal")
    roughness: float = number(0.5, min=0.05, max=1.0, doc="0.05: polished, 1: matte")


class InstancesLayer(MeshesLayer):
    """A mesh for each row of `position`, turned and sized as the row says. Rows that are not finite are not drawn."""

    casts: ClassVar[bool] = True
    blends: ClassVar[bool] = True
    Style: ClassVar[type[Params]] = InstancesStyle
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]] = {
        "position": AttributeSpec(True, (3,), None, "x, y, z in world space"),
        "color": AttributeSpec(
            False, (1, 3, 4), (0.72, 0.70, 0.67), "a scalar for the colormap, or sRGB, or sRGB and alpha"
        ),
        "size": AttributeSpec(False, (1, 3), 0.05, "scale of the mesh, or one for each of its axes"),
        "direction": AttributeSpec(
            False, (3, 4), None, "direction of the mesh's y axis, or a rotation as a quaternion x, y, z, w"
        ),
        **MESH,
    }

    def bind(self, attributes: Mapping[str, Attribute]) -> None:
        """Draw these from now on.

        Raises `LayoutError` or `ParameterError` for what cannot be drawn; what was bound before stays then.
        """
        bound = Attributes(self._gpu, self.name, self.ATTRIBUTES, attributes, "instance", beside=tuple(MESH))
        color, size = bound.color(), _factors(self.name, bound.constants.get("size", 1.0))
        if "direction" in bound.constants:
            raise ParameterError(
                f"layer {self.name!r}: direction must be a tensor; leave it out for meshes as they are"
            )
        meshes = Meshes(self._gpu, self.name, RECIPE, bound, attributes, self.style.shape)
        self._take(meshes)
        self._color, self._size = color, size
        self._attributes = attributes

    def prepare(self, moment: Moment | None = None) -> None:
        """Take another shape if the style has one, and find the extent of the colors if it is wanted."""
        if self._bound.shape != self.style.shape and not self._bound.given:
            self.bind(self._attributes)
        super().prepare(moment)

    def _uniform(self) -> bytes:
        style = self.style
        looks = (*self._color, *ends(style.range), style.metallic, style.roughness)
        return STYLE.pack(*looks, *self._size, style.range == "auto", 0.0, 0.0, 0.0)


def _factors(layer: str, size: Any) -> tuple[float, ...]:
    """A constant size along the three axes. Raises `ParameterError`."""
    values = [size] * 3 if isinstance(size, int | float) else size
    if not isinstance(values, list | tuple) or len(values) != 3 or not all(_is_size(value) for value in values):
        raise ParameterError(f"layer {layer!r}: size must be one or three numbers above 0, got {size!r}")
    return tuple(float(value) for value in values)


def _is_size(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
