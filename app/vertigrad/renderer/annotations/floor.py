"""`Floor`: the ruled floor, on which shadows fall."""

from __future__ import annotations

import wgpu

from ...gpu import Gpu
from ..bindings import lighting_layout
from ..computed_image import ComputedImage
from ..pipelines import render_pipeline
from ..target import Colors, pass_states

SHADER = "draw/floor.wgsl"


class Floor:
    """Computes the color of each pixel of the floor, then draws it. `layout` is that of the lines of annotations."""

    def __init__(self, gpu: Gpu, layout: wgpu.GPUBindGroupLayout):
        self._gpu, self._layout = gpu, layout
        self._image = ComputedImage(gpu, SHADER, "floor_pixels", layout)
        self._draws: dict[Colors, wgpu.GPURenderPipeline] = {}

    def compute(
        self, size: tuple[int, int], lighting: wgpu.GPUBindGroup, group: wgpu.GPUBindGroup, offsets: tuple[int, ...]
    ) -> None:
        """Record the computation for an image of `size` pixels, after the shadow maps and outside of any pass."""
        self._image.compute(size, lighting, group, offsets)

    def draw(
        self, pass_: wgpu.GPURenderPassEncoder, colors: Colors, group: wgpu.GPUBindGroup, offsets: tuple[int, ...]
    ) -> None:
        """Draw it in a pass of an image of that size."""
        if colors not in self._draws:
            self._draws[colors] = render_pipeline(
                self._gpu,
                SHADER,
                ("floor_vertex", "floor_fragment"),
                [self._layout, lighting_layout(self._gpu), self._image.source_layout],
                **pass_states(self._gpu, "color", over=True, colors=colors)._asdict(),
            )
        pass_.set_pipeline(self._draws[colors])
        pass_.set_bind_group(0, group, offsets)
        pass_.set_bind_group(2, self._image.source)
        pass_.draw(3)
