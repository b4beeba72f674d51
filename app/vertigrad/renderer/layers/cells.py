"""Triangles as the numbers of their corners' rows, for an image of rows."""

from __future__ import annotations

import struct

import wgpu

from ...gpu import Gpu
from ...tensor import Tensor
from ..bindings import Bindings
from ..pipelines import render_pipeline
from ..target import pass_states
from ..view import VIEW_SIZE
from .attributes import Bound
from .base import Frame
from .storage import storage_range

SHADER = "draw/cells.wgsl"
PLACE = struct.Struct("<3I4x")  # `Place` in the shader


def draw_cells(gpu: Gpu, pass_: wgpu.GPURenderPassEncoder, frame: Frame, position: Bound, index: Tensor) -> None:
    """Draw the triangles that `index`, contiguous, makes of the rows of `position`, read from their own blocks.

    Vertex buffers do not distinguish corners of a triangle, so both are bound as storage. Raises `LimitError` if one
    of them is larger than this adapter binds.
    """
    where = "a surface cannot be picked"
    positions, first_position = position.resource(gpu, where)
    indices, first_index = storage_range(gpu, index, where)
    uniform = PLACE.pack(first_position, position.stride, first_index // index.itemsize)
    bindings = Bindings(gpu, (VIEW_SIZE, PLACE.size), ("storage", "storage"))
    states = pass_states(gpu, "rows", over=False, split=False, display_referred=False)
    pipeline = render_pipeline(
        gpu,
        SHADER,
        ("cell_vertex", "cell_fragment"),
        [bindings.layout],
        defines={"TYPE": position.tensor.scalar},
        **states._asdict(),
    )
    pass_.set_pipeline(pipeline)
    pass_.set_bind_group(0, bindings.create((positions, indices)), (frame.view_offset, gpu.uniforms.push(uniform)))
    pass_.draw(index.size)
