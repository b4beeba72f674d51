"""`MeshesDrawing`: what layers that draw a mesh for each row have in common."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import wgpu

from ...errors import LayoutError, ParameterError
from ...gpu import Gpu
from ...tensor import Tensor
from ..bindings import Bindings
from ..pipelines import render_pipeline
from ..target import pass_states
from ..view_uniforms import VIEW_SIZE
from .attributes import Attributes, Bound, describe
from .base import Attribute, AttributeSpec, Frame
from .drawing import Drawing
from .recipe import Recipe, Stage
from .shapes import shape
from .storage import storage_range

CELLS_SHADER = "draw/cells.wgsl"
CELLS = struct.Struct("<3I4x")  # `CellArrays` in that shader
RECIPE = Recipe(
    shader="draw/instances.wgsl",
    stages=[Stage("instance", "instance")],
    locations={"position": 0, "color": 1, "size": 2, "extent": 3, "direction": 4, "mesh": 5, "mesh_normal": 6},
    defines={"ARROW": False},
    deferred=True,
)
MESH: Mapping[str, AttributeSpec] = {
    "mesh": AttributeSpec(False, (3,), None, "vertices of the mesh", own_rows=True),
    "mesh_normal": AttributeSpec(
        False, (3,), None, "normals of the mesh; without them triangles are shaded flat", own_rows=True
    ),
    "index": AttributeSpec(False, (1, 3), None, "three vertices of the mesh for each triangle", own_rows=True),
}


class IndexedDrawing(Drawing):
    """Draws the triangles of `index`, for each of `count` instances."""

    index: Tensor
    count = 1
    skips_hidden = True

    def report_index(self) -> dict[str, Any]:
        """The index and its layout, for a layer's report."""
        return describe(self.index, self.index.itemsize, "uint32")

    def draw_call(self, pass_: wgpu.GPURenderPassEncoder) -> None:
        index = self.index
        pass_.set_index_buffer(index.block.buffer, "uint32", index.offset, index.nbytes)
        pass_.draw_indexed(index.size, self.count)


class MeshesDrawing(IndexedDrawing):
    """Draws one mesh for each row; `mesh` are the attributes of its vertices."""

    mesh: Attributes

    def create_meshes(
        self, recipe: Recipe, rows: Attributes, bound: Mapping[str, Attribute], name: str, *others
    ) -> None:
        """Draw the bound mesh, or else the shape of this name, for each of `rows`."""
        self.bound_mesh = {key: value for key, value in bound.items() if key in MESH and isinstance(value, Tensor)}
        tensors = self.bound_mesh or self._shape(name)
        if "mesh" not in tensors or "index" not in tensors:
            raise ParameterError(f"layer {self.name!r}: a mesh needs mesh, its vertices, and index, its triangles")
        vertices = {key: value for key, value in tensors.items() if key != "index"}
        mesh = self.mesh = Attributes(self.gpu, self.name, MESH, vertices, "vertex", excluded=("index",))
        self.index, self.count = checked_index(self.name, tensors["index"]), rows.rows
        self.create(recipe, [rows, mesh], others=[self.index, *others])

    def _shape(self, name: str) -> dict[str, Tensor]:
        mesh_shape = shape(name)
        arrays = {"mesh": mesh_shape.positions, "mesh_normal": mesh_shape.normals, "index": mesh_shape.index}
        return {key: self.hold(Tensor.from_numpy(array, name=f"{self.name}.{key}")) for key, array in arrays.items()}


def checked_index(layer: str, index: Attribute) -> Tensor:
    """The index, three rows for each triangle. Raises `LayoutError` if its layout cannot be drawn."""
    if not isinstance(index, Tensor) or index.dtype.name != "u32":
        found = f"the {index.dtype} tensor {index.name!r}" if isinstance(index, Tensor) else repr(index)
        raise LayoutError(f"layer {layer!r}: index must be a u32 tensor, got {found}; cast it")
    if not index.is_contiguous or index.size == 0 or index.size % 3:
        raise LayoutError(
            f"layer {layer!r}: index {index.name!r} of shape {index.shape} and strides {index.strides} must "
            "be contiguous and hold three rows of position for each triangle; call .contiguous()"
        )
    return index


def draw_cells(gpu: Gpu, pass_: wgpu.GPURenderPassEncoder, frame: Frame, position: Bound, index: Tensor) -> None:
    """Draw the triangles of `index`, contiguous, between the rows of `position`, read from their own blocks.

    Vertex buffers do not distinguish the corners of a triangle, so both are bound as storage. Raises `LimitError` if
    one of them is larger than this GPU can bind.
    """
    where = "a surface cannot be picked"
    positions, first_position = position.resource(gpu, where)
    indices, first_index = storage_range(gpu, index, where)
    uniform = CELLS.pack(first_position, position.stride, first_index // index.itemsize)
    bindings = Bindings(gpu, (VIEW_SIZE, CELLS.size), ("storage", "storage"))
    states = pass_states(gpu, "rows", over=False)
    pipeline = render_pipeline(
        gpu,
        CELLS_SHADER,
        ("cell_vertex", "cell_fragment"),
        [bindings.layout],
        defines={"TYPE": position.tensor.scalar},
        **states._asdict(),
    )
    pass_.set_pipeline(pipeline)
    pass_.set_bind_group(0, bindings.create((positions, indices)), (frame.view_offset, gpu.uniforms.push(uniform)))
    pass_.draw(index.size)
