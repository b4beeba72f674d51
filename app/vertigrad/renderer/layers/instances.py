"""`InstancesLayer`: one mesh, drawn for each row."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from ...params import Params, choice
from . import styles
from .attributes import describe
from .base import Attribute, AttributeSpec, Layer
from .meshes import MESH, RECIPE, MeshesDrawing
from .shapes import SHAPES
from .styles import Range


class InstancesStyle(Params):
    """The style of the instances of a mesh."""

    shape: str = choice("cube", tuple(SHAPES), doc="mesh of each instance if none is bound, of radius 1")
    colormap: str = styles.colormap("batlow")
    colormap_flip: bool = styles.COLORMAP_FLIP
    range: Range = styles.color_range()
    metallic: float = styles.METALLIC
    roughness: float = styles.roughness(0.5)
    casts_shadow: bool = styles.CASTS_SHADOW


class InstancesDrawing(MeshesDrawing):
    """A mesh for each row, with its own size and direction."""

    rebuilds = ("shape",)

    def build(self, values: Mapping[str, Attribute]) -> None:
        self.bind_rows(values, InstancesLayer.ATTRIBUTES, excluded=MESH)
        self._size = self.attributes.factors("size")
        self.create_meshes(RECIPE, self.attributes, values, self.style.shape)
        for key, tensor in self.bound_mesh.items():
            format = "uint32" if key == "index" else "float32x3"
            self.reported[key] = partial(describe, tensor, tensor.strides[0], format)

    def uniform(self) -> dict[str, Any]:
        return {"size": self._size, "max_length": 0.0, "normalize": False, "anchor": 0.0}


class InstancesLayer(Layer):
    """A mesh for each row of `position`, with its rotation and size. Rows that are not finite are not drawn."""

    casts = True
    blends = True
    Style = InstancesStyle
    DRAWING = InstancesDrawing
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]] = {
        "position": styles.POSITION,
        "color": styles.color_attribute(styles.WARM_GRAY),
        "size": AttributeSpec(False, (1, 3), 0.05, "scale of the mesh, or one for each of its axes"),
        "direction": AttributeSpec(
            *(False, (3, 4), None, "direction of the mesh's y axis, or a rotation as a quaternion x, y, z, w"),
            without="meshes without rotation",
        ),
        **MESH,
    }
