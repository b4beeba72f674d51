"""`AxesBounds`: the box around everything that is drawn, kept on the GPU and never read back."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import wgpu

from ...gpu import Gpu
from ..layers.attributes import Bound
from ..layers.base import Layer
from ..layers.field import storage_range
from ..pipelines import draw_cache, draw_shader

SHADER = "draw/axes_bounds.wgsl"
ROWS = struct.Struct("<4I")  # `Rows` in the shader
LANES, GROUPS = 64, 32  # of a workgroup; workgroups that share the rows of a layer
BOX_BYTES = 32
REMEMBERED = 8  # bind groups of blocks that were drawn last


class AxesBounds:
    """`buffer` holds two corners, (4,) f32 each; `record` brings them up to date with where the layers are now.

    It starts anew when other layers are drawn. Rows that have a NaN or an infinity in them do not count.
    """

    def __init__(self, gpu: Gpu):
        self._gpu = gpu
        self._layers: tuple[int, ...] = ()
        self._groups: dict[Any, wgpu.GPUBindGroup] = {}
        self._start(0)

    def record(self, layers: Sequence[Layer]) -> None:
        """Record the reduction of all positions; before the picture's pass."""
        gpu, recorder = self._gpu, self._gpu.recorder
        if self._layers != (drawn := tuple(map(id, layers))):
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
        """Small buffers of the device's own: dropped, never destroyed, when there are others."""
        gpu, storage, size = self._gpu, wgpu.BufferUsage.STORAGE, max(layers, 1) * GROUPS * BOX_BYTES
        self.buffer = gpu.create_buffer(BOX_BYTES, storage | wgpu.BufferUsage.COPY_SRC, "axes bounds")
        self._boxes = gpu.create_buffer(size, storage, "axes bounds of layers")
        self._groups = {}
        entries = [*self._shared(), {"binding": 3, "resource": _all(self.buffer)}]
        self._combine_group = gpu.device.create_bind_group(layout=self._layout("combine"), entries=entries)

    def _gather_group(self, position: Bound) -> tuple[wgpu.GPUBindGroup, int]:
        """The bind group of positions as they lie now, and the element of it at which they begin."""
        tensor = position.tensor
        resource, first = storage_range(self._gpu, tensor, "the box around everything")
        key = tensor.block.id, tensor.block.generation, resource["offset"], resource["size"]
        if key not in self._groups:
            entries = [*self._shared(), {"binding": 1, "resource": resource}]
            self._groups[key] = self._gpu.device.create_bind_group(layout=self._layout("gather"), entries=entries)
            if len(self._groups) > REMEMBERED + len(self._layers):
                del self._groups[next(iter(self._groups))]
        return self._groups[key], first // tensor.itemsize

    def _shared(self) -> list[Any]:
        ring = {"buffer": self._gpu.uniforms.buffer, "offset": 0, "size": ROWS.size}
        return [{"binding": 0, "resource": ring}, {"binding": 2, "resource": _all(self._boxes)}]

    def _layout(self, entry: str) -> wgpu.GPUBindGroupLayout:
        compute = wgpu.ShaderStage.COMPUTE
        other, kind = (1, "read-only-storage") if entry == "gather" else (3, "storage")
        entries: list[Any] = [
            {"binding": 0, "visibility": compute, "buffer": {"type": "uniform", "has_dynamic_offset": True}},
            {"binding": other, "visibility": compute, "buffer": {"type": kind}},
            {"binding": 2, "visibility": compute, "buffer": {"type": "storage"}},
        ]
        device = self._gpu.device
        return draw_cache(self._gpu).get(
            ("axes bounds layout", entry), lambda: device.create_bind_group_layout(entries=entries)
        )

    def _pipeline(self, entry: str, scalar: str) -> wgpu.GPUComputePipeline:
        device = self._gpu.device

        def make() -> wgpu.GPUComputePipeline:
            module = draw_shader(self._gpu, SHADER, {"TYPE": scalar})
            layout = device.create_pipeline_layout(bind_group_layouts=[self._layout(entry)])
            return device.create_compute_pipeline(layout=layout, compute={"module": module, "entry_point": entry})

        return draw_cache(self._gpu).get((SHADER, entry, scalar), make)


def _all(buffer: wgpu.GPUBuffer) -> dict[str, Any]:
    return {"buffer": buffer, "offset": 0, "size": buffer.size}
