"""`Occlusion`: ambient occlusion in screen space, from the depths of an image, in compute (record 0161 says why)."""

from __future__ import annotations

import wgpu

from ..gpu import Gpu
from .bindings import COMPUTE, bind_group, bind_group_layout, uniform_range
from .pipelines import column_of, compute_pipeline, tiles
from .quality import HIGH, Level
from .target import create_view
from .view_uniforms import VIEW_SIZE

SHADER = "draw/occlusion.wgsl"
FORMAT = "rgba16float"  # mirrored in the shader; the smallest with halves that shaders can write
SMALLER = 2  # than the image


class Occlusion:
    """For images of `size` pixels, at a quality level; `visibility`, half as large, is the result."""

    def __init__(self, gpu: Gpu, depths: wgpu.GPUTextureView, size: tuple[int, int], level: Level = HIGH):
        self._gpu = gpu
        self._defines = {"PLANES": level.sky_planes, "STEPS": level.sky_steps, "COLUMN_PIXELS": column_of(gpu)}
        kinds = ({0: "uniform", 1: "depth", 3: "stored light"}, {2: "unfilterable", 3: "stored light"})
        self._layouts = [bind_group_layout(gpu, each, COMPUTE) for each in kinds]
        self.compile()
        width, height = size
        self._half = max(1, -(-width // SMALLER)), max(1, -(-height // SMALLER))
        usage = wgpu.TextureUsage.STORAGE_BINDING | wgpu.TextureUsage.TEXTURE_BINDING
        found, self.visibility = (create_view(gpu, self._half, FORMAT, usage) for _ in range(2))
        resources = (
            {0: uniform_range(gpu, VIEW_SIZE), 1: depths, 3: found},
            {2: found, 3: self.visibility},
        )
        self._groups = [bind_group(gpu, *each) for each in zip(self._layouts, resources, strict=True)]

    def compile(self) -> None:
        """Create the pipelines; also called after the shader has changed. Raises `ShaderError`."""
        self._pipelines = [
            compute_pipeline(self._gpu, SHADER, entry, [layout], self._defines)
            for entry, layout in zip(("search_pixels", "smooth_pixels"), self._layouts, strict=True)
        ]

    def record(self, view_offset: int) -> None:
        """Record the computation of `visibility` from the depths."""
        recorder = self._gpu.recorder
        with recorder.group("occlusion"):
            pass_ = recorder.compute_pass()
            columns, pixels = tiles(self._half, column_of(self._gpu)), tiles(self._half)
            searched, smoothed = ((view_offset,), columns), ((), pixels)
            for pipeline, group, (offsets, workgroups) in zip(
                self._pipelines, self._groups, (searched, smoothed), strict=True
            ):
                pass_.set_pipeline(pipeline)
                pass_.set_bind_group(0, group, offsets)
                pass_.dispatch_workgroups(*workgroups)
        recorder.dispatches += len(self._groups)
