"""`MeshesLayer`: what layers that draw a mesh for each row have in common; `Meshes`: what they keep on the device."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import Any

import wgpu

from ...errors import ParameterError
from ...gpu import Gpu, Plan
from ...memory import Block
from ...tensor import Tensor
from ..moment import Moment
from .attributes import Attributes
from .base import Attribute, AttributeSpec, Frame
from .content import Content, ContentLayer
from .drawing import Coloring, Drawing, Recipe
from .indexed import checked_index
from .shapes import shape

MESH: Mapping[str, AttributeSpec] = {
    "mesh": AttributeSpec(False, (3,), None, "vertices of the mesh", own_rows=True),
    "mesh_normal": AttributeSpec(
        False, (3,), None, "normals of the mesh; without them triangles are shaded flat", own_rows=True
    ),
    "index": AttributeSpec(False, (1, 3), None, "three vertices of the mesh for each triangle", own_rows=True),
}


class Meshes(Content):
    """Draws the mesh that is `given`, or else the shape of this name, for each row of `attributes`."""

    def __init__(
        self,
        gpu: Gpu,
        layer: str,
        recipe: Recipe,
        attributes: Attributes,
        given: Mapping[str, Attribute],
        name: str,
    ):
        self._gpu = gpu
        self.attributes = attributes
        self.shape = name
        self.given = {key: value for key, value in given.items() if key in MESH and isinstance(value, Tensor)}
        with ExitStack() as stack:  # closes what was made if something that follows cannot be
            tensors = self.given or self._made(layer, stack)
            if "mesh" not in tensors or "index" not in tensors:
                raise ParameterError(f"layer {layer!r}: a mesh needs mesh, its vertices, and index, its triangles")
            beside = {key: value for key, value in tensors.items() if key != "index"}
            mesh = Attributes(gpu, layer, MESH, beside, "vertex", beside=("index",))
            self.index = checked_index(layer, tensors["index"])
            self.drawing = Drawing(gpu, recipe, attributes, mesh)
            stack.callback(self.drawing.close)
            self._held = stack.pop_all()

    def prepare(self, style: Coloring) -> None:
        """Upload what is borrowed, and find the extent of the colors if it is wanted."""
        self.drawing.prepare(style)
        self._gpu.make_resident(self.index.owner)

    def draw(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame, style: Coloring, offset: int, rows: bool) -> None:
        """Draw everything, as colors or as the numbers of rows."""
        drawing, index = self.drawing, self.index
        start = drawing.start_rows if rows else drawing.start
        start(pass_, frame, "instance", style, offset)
        pass_.set_index_buffer(index.block.buffer, "uint32", index.offset, index.nbytes)
        pass_.draw_indexed(index.size, self.attributes.rows)

    def blocks(self) -> Iterable[Block]:
        """Every block that is read."""
        return [*self.drawing.blocks(), self.index.block]

    def report(self) -> dict[str, Any]:
        """Where the attributes lie, and the mesh if it is a model's."""
        found = self.attributes.report()
        for key, tensor in self.given.items():
            place = {"block": tensor.block.id, "offset": tensor.offset, "stride": tensor.strides[0]}
            found[key] = {"tensor": tensor.name, **place, "format": "uint32" if key == "index" else "float32x3"}
        return found

    def close(self) -> None:
        """Give up the memory that was made here. Idempotent."""
        self._held.close()

    def _made(self, layer: str, stack: ExitStack) -> dict[str, Tensor]:
        made = shape(self.shape)
        arrays = {"mesh": made.positions, "mesh_normal": made.normals, "index": made.index}
        return {
            key: stack.enter_context(Tensor.from_numpy(array, name=f"{layer}.{key}")) for key, array in arrays.items()
        }


class MeshesLayer(ContentLayer[Meshes]):
    """A layer that draws a mesh for each row: all of it but what it takes and how it looks."""

    def prepare(self, moment: Moment | None = None) -> None:
        """Upload what is borrowed, and find the extent of the colors if it is wanted."""
        self._bound.prepare(self.style)

    def find_extent(self, plan: Plan) -> None:
        """Leave it to `plan`, which makes what is drawn, to find the extent of the colors."""
        self._bound.drawing.find_extent(plan)

    def draw(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw the meshes."""
        self._bound.draw(pass_, frame, self.style, self._gpu.uniforms.push(self._uniform()), rows=False)

    def draw_over(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Meshes are solid throughout: nothing."""

    def draw_rows(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw the meshes as the numbers of their rows."""
        self._bound.draw(pass_, frame, self.style, self._gpu.uniforms.push(self._uniform()), rows=True)

    @abstractmethod
    def _uniform(self) -> bytes:
        """The style as the shader has it."""
