"""`Occlusion`: ambient occlusion in screen space, from the depths of an image."""

from __future__ import annotations

import wgpu

from ..gpu import Gpu, RenderPass
from .bindings import FRAGMENT, bind_group, bind_group_layout, uniform_range
from .pipelines import fullscreen_pipeline
from .quality import HIGH, Level
from .target import create_view
from .view_uniforms import VIEW_SIZE

SHADER = "draw/occlusion.wgsl"
FORMAT = "rg16float"
SMALLER = 2  # than the image


class Occlusion:
    """For images of `size` pixels, at a quality level; `visibility`, half as large, is the result."""

    def __init__(self, gpu: Gpu, depths: wgpu.GPUTextureView, size: tuple[int, int], level: Level = HIGH):
        self._gpu = gpu
        self._defines = {"PLANES": level.sky_planes, "STEPS": level.sky_steps}
        kinds = ({0: "uniform", 1: "depth"}, {2: "unfilterable"})
        self._layouts = [bind_group_layout(gpu, each, FRAGMENT) for each in kinds]
        self.compile()
        half = tuple(max(1, -(-n // SMALLER)) for n in size)
        found, self.visibility = (create_view(gpu, half, FORMAT) for _ in range(2))
        resources = ({0: uniform_range(gpu, VIEW_SIZE), 1: depths}, {2: found})
        self._groups = [bind_group(gpu, *each) for each in zip(self._layouts, resources, strict=True)]
        self._passes = [
            RenderPass([{"view": view, "load_op": "clear", "store_op": "store"}]) for view in (found, self.visibility)
        ]

    def compile(self) -> None:
        """Create the pipelines; also called after the shader has changed. Raises `ShaderError`."""
        self._pipelines = [
            fullscreen_pipeline(self._gpu, SHADER, entry, layout, [{"format": FORMAT}], defines=self._defines)
            for entry, layout in zip(("search_fragment", "smooth_fragment"), self._layouts, strict=True)
        ]

    def record(self, view_offset: int) -> None:
        """Record the passes that compute `visibility` from the depths."""
        parts = zip(self._passes, self._pipelines, self._groups, ((view_offset,), ()), strict=True)
        for described, pipeline, group, offsets in parts:
            with self._gpu.recorder.render_pass("occlusion", described) as pass_:
                pass_.set_pipeline(pipeline)
                pass_.set_bind_group(0, group, offsets)
                pass_.draw(3)
