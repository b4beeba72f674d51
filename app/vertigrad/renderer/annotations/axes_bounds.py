"""`AxesBounds`: the box around everything that is drawn, computed on the GPU and never read back."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any
from weakref import ref

import wgpu

from ...gpu import Gpu
from ..bindings import COMPUTE, bind_group, bind_group_layout, uniform_range, whole_buffer
from ..layers.attributes import Bound
from ..layers.base import Layer
from ..layers.field import storage_range
from ..pipelines import compute_pipeline, draw_cache

SHADER = "draw/axes_bounds.wgsl"
ROWS = struct.Struct("<4I")  # `Rows` in the shader
LANES, GROUPS = 64, 32  # invocations of a workgroup; workgroups for the rows of a layer
BOX_BYTES = 32
CACHED = 8  # bind groups, of the blocks that were drawn last


class AxesBounds:
    """`buffer` holds two corners, (4,) f32 each; `record` updates them for the current positions of the layers.

    The box is reset when other layers are drawn. Rows that contain a NaN or an infinity do not count.
    """

    def __init__(self, gpu: Gpu):
        self._gpu = gpu
        self._layers: tuple[ref[Layer], ...] = ()
        self._groups: dict[Any, wgpu.GPUBindGroup] = {}
        self._start(0)

    def record(self, layers: Sequence[Layer]) -> None:
        """Record the reduction of all positions; before the image's pass."""
        gpu, recorder = self._gpu, self._gpu.recorder
        if self._layers != (drawn := tuple(map(ref, layers))):
            self._start(len(layers))
            self._layers = drawn
        compute = recorder.compute_pass()
        slot = 0
        for layer in layers:
            position = layer.attributes.tensors["position"]
            rows = position.layout.rows
            if rows == 0:
                continue
            recorder.use((position.tensor.block,))
            groups = min(GROUPS, -(-rows // LANES))
            group, first = self._gather_group(position)
            stride = position.layout.stride // position.tensor.itemsize
            compute.set_pipeline(self._pipeline("gather", position.tensor.scalar))
            compute.set_bind_group(0, group, (gpu.uniforms.push(ROWS.pack(rows, first, stride, slot)),))
            compute.dispatch_workgroups(groups)
            slot += groups
        compute.set_pipeline(self._pipeline("combine", "f32"))
        compute.set_bind_group(0, self._combine_group, (gpu.uniforms.push(ROWS.pack(slot, 0, 0, 0)),))
        compute.dispatch_workgroups(1)

    def _start(self, layers: int) -> None:
        """Small buffers, not from the pool: when they are replaced, they are dropped, never destroyed."""
        gpu, storage, size = self._gpu, wgpu.BufferUsage.STORAGE, max(layers, 1) * GROUPS * BOX_BYTES
        self.buffer = gpu.create_buffer(BOX_BYTES, storage | wgpu.BufferUsage.COPY_SRC, "axes bounds")
        self._boxes = gpu.create_buffer(size, storage, "axes bounds of layers")
        self._groups = {}
        self._combine_group = self._bind("combine", {3: whole_buffer(self.buffer)})

    def _gather_group(self, position: Bound) -> tuple[wgpu.GPUBindGroup, int]:
        """The bind group of the current positions, and the index of their first element in it."""
        tensor = position.tensor
        resource, first = storage_range(self._gpu, tensor, "the box around everything")
        key = tensor.block.id, tensor.block.generation, resource["offset"], resource["size"]
        if key not in self._groups:
            self._groups[key] = self._bind("gather", {1: resource})
            if len(self._groups) > CACHED + len(self._layers):
                del self._groups[next(iter(self._groups))]
        return self._groups[key], first // tensor.itemsize

    def _bind(self, entry: str, own: dict[int, Any]) -> wgpu.GPUBindGroup:
        shared = {0: uniform_range(self._gpu, ROWS.size), 2: whole_buffer(self._boxes)}
        return bind_group(self._gpu, self._layout(entry), shared | own)

    def _layout(self, entry: str) -> wgpu.GPUBindGroupLayout:
        own = {1: "storage"} if entry == "gather" else {3: "written"}
        return bind_group_layout(self._gpu, {0: "uniform", 2: "written"} | own, COMPUTE)

    def _pipeline(self, entry: str, scalar: str) -> wgpu.GPUComputePipeline:
        def create() -> wgpu.GPUComputePipeline:
            return compute_pipeline(self._gpu, SHADER, entry, [self._layout(entry)], {"TYPE": scalar})

        return draw_cache(self._gpu).get((SHADER, entry, scalar), create)
