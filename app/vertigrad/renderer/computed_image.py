"""`ComputedImage`: a color for each pixel, computed by a compute shader and drawn later by fragments that only read it.

Fragments could compute the same, but GPUs made for computing run these on few of their multiprocessors: record 0161.
"""

from __future__ import annotations

import wgpu

from ..gpu import Gpu
from .bindings import COMPUTE, FRAGMENT, bind_group, bind_group_layout, lighting_layout
from .pipelines import column_of, compute_pipeline, dispatch, tiles
from .target import create_view

FORMAT = "rgba32float"  # mirrored in the shaders


class ComputedImage:
    """For images of any size: `compute` outside of any pass, then bind `source`, of `source_layout`, and draw.

    `layout` is that of group 0 of the shader; group 1 has the lighting, and `entry` writes to group 2. `entry` has
    the `COLUMN_PIXELS` of shaders/common/columns.wgsl.
    """

    def __init__(
        self,
        gpu: Gpu,
        shader: str,
        entry: str,
        layout: wgpu.GPUBindGroupLayout,
    ):
        self._gpu, self._column = gpu, column_of(gpu)
        self._written = bind_group_layout(gpu, ("stored",), COMPUTE)
        self.source_layout = bind_group_layout(gpu, ("unfilterable",), FRAGMENT)
        layouts = [layout, lighting_layout(gpu), self._written]
        self._pipeline = compute_pipeline(gpu, shader, entry, layouts, {"COLUMN_PIXELS": self._column})
        self._size = (0, 0)

    def compute(
        self, size: tuple[int, int], lighting: wgpu.GPUBindGroup, group: wgpu.GPUBindGroup, offsets: tuple[int, ...]
    ) -> None:
        """Record the computation of `size` pixels; `group` has what the shader reads, its uniforms at these offsets."""
        if size != self._size:
            self._resize(size)
        dispatch(
            self._gpu, "layers", self._pipeline, (group, lighting, self._target), offsets, tiles(size, self._column)
        )

    def _resize(self, size: tuple[int, int]) -> None:
        usage = wgpu.TextureUsage.STORAGE_BINDING | wgpu.TextureUsage.TEXTURE_BINDING
        view = create_view(self._gpu, size, FORMAT, usage)
        self._target = bind_group(self._gpu, self._written, [view])
        self.source = bind_group(self._gpu, self.source_layout, [view])
        self._size = size
