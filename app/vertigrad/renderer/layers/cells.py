"""Triangles as the numbers of their corners' rows, for a picture of rows."""

from __future__ import annotations

import struct
from typing import Any

import wgpu

from ...gpu import Gpu
from ...tensor import Tensor
from ..pipelines import draw_cache, draw_shader
from ..rows import ROW_TARGETS, rows_depth
from ..view import VIEW_SIZE
from .attributes import Bound
from .base import Frame
from .field import storage_range

SHADER = "draw/cells.wgsl"
PLACE = struct.Struct("<3I4x")  # `Place` in the shader


def draw_cells(gpu: Gpu, pass_: wgpu.GPURenderPassEncoder, frame: Frame, position: Bound, index: Tensor) -> None:
    """Draw the triangles that `index`, contiguous, makes of the rows of `position`, read where they lie.

    Corners of a triangle are not told apart by vertex buffers, so both are bound as storage. Raises `LimitError` if one
    of them is larger than this adapter binds.
    """
    itemsize = position.tensor.itemsize
    where = "a surface cannot be picked"
    places, first_position = storage_range(gpu, position.tensor, where, position.layout.nbytes)
    indices, first_index = storage_range(gpu, index, where)
    place = PLACE.pack(first_position // itemsize, position.layout.stride // itemsize, first_index // index.itemsize)
    layout = _layout(gpu)
    group = gpu.device.create_bind_group(layout=layout, entries=_entries(gpu, places, indices))
    pass_.set_pipeline(_pipeline(gpu, layout, position.tensor.scalar))
    pass_.set_bind_group(0, group, (frame.view_offset, gpu.uniforms.push(place)))
    pass_.draw(index.size)


def _entries(gpu: Gpu, positions: dict[str, Any], indices: dict[str, Any]) -> list[Any]:
    ring = gpu.uniforms.buffer
    resources = [{"buffer": ring, "offset": 0, "size": size} for size in (VIEW_SIZE, PLACE.size)]
    return [{"binding": n, "resource": resource} for n, resource in enumerate([*resources, positions, indices])]


def _layout(gpu: Gpu) -> wgpu.GPUBindGroupLayout:
    both = wgpu.ShaderStage.VERTEX | wgpu.ShaderStage.FRAGMENT
    uniform, storage = {"type": "uniform", "has_dynamic_offset": True}, {"type": "read-only-storage"}
    entries: list[Any] = [
        {"binding": number, "visibility": both, "buffer": buffer}
        for number, buffer in enumerate((uniform, uniform, storage, storage))
    ]
    return draw_cache(gpu).get("cells layout", lambda: gpu.device.create_bind_group_layout(entries=entries))


def _pipeline(gpu: Gpu, layout: wgpu.GPUBindGroupLayout, scalar: str) -> wgpu.GPURenderPipeline:
    def make() -> wgpu.GPURenderPipeline:
        module = draw_shader(gpu, SHADER, {"TYPE": scalar})
        return gpu.device.create_render_pipeline(
            label=SHADER,
            layout=gpu.device.create_pipeline_layout(bind_group_layouts=[layout]),
            vertex={"module": module, "entry_point": "cell_vertex"},
            fragment={"module": module, "entry_point": "cell_fragment", "targets": list(ROW_TARGETS)},
            primitive={"topology": "triangle-list", "cull_mode": "none"},
            depth_stencil=rows_depth(),
        )

    return draw_cache(gpu).get((SHADER, scalar), make)
