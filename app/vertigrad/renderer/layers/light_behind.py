"""`LightBehind`: the light of what is opaque in an image, with smaller levels, for surfaces that it shines through."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import wgpu

from ...gpu import Gpu, RenderPass
from ..bindings import FRAGMENT, bind_group, bind_group_layout
from ..pipelines import draw_cache, fullscreen_pipeline
from ..target import COLOR

SHADER, SHRINK_SHADER = "draw/light_behind.wgsl", "draw/texture_maps.wgsl"


class LightBehind:
    """For images of any size: `record` outside of any pass, then bind `group`, of a texture and its sampler."""

    group: wgpu.GPUBindGroup

    def __init__(self, gpu: Gpu):
        self._gpu = gpu
        self._image: wgpu.GPUTextureView | None = None
        self._sampler = draw_cache(gpu).get("level sampler", lambda: _level_sampler(gpu))
        self.layout = bind_group_layout(gpu, ("texture", "sampler"), FRAGMENT)

    def record(self, image: wgpu.GPUTextureView) -> None:
        """Record the passes that copy the samples of `image`, and shrink the copy."""
        if image is not self._image:
            self._create(image)
        for pipeline, group, described in self._steps:
            with self._gpu.recorder.render_pass("layers", described) as pass_:
                pass_.set_pipeline(pipeline)
                pass_.set_bind_group(0, group)
                pass_.draw(3)

    def _create(self, image: wgpu.GPUTextureView) -> None:
        """Create the levels for an image of this size."""
        gpu = self._gpu
        width, height, _ = image.texture.size
        count = max(width, height).bit_length()
        texture = gpu.create_texture(
            size=(width, height, 1),
            format=COLOR,
            usage=wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.TEXTURE_BINDING,
            mip_level_count=count,
        )
        levels = [texture.create_view(base_mip_level=at, mip_level_count=1) for at in range(count)]
        self._steps = [self._step(SHADER, "mean_fragment", {0: "samples"}, {0: image}, levels[0])]
        for larger, smaller in pairwise(levels):
            resources = {1: larger, 2: self._sampler}
            self._steps.append(
                self._step(SHRINK_SHADER, "shrink_fragment", {1: "texture", 2: "sampler"}, resources, smaller)
            )
        self.group = bind_group(gpu, self.layout, (texture.create_view(), self._sampler))
        self._image = image

    def _step(
        self, shader: str, fragment: str, kinds: dict[int, str], resources: dict[int, Any], into: wgpu.GPUTextureView
    ) -> tuple[wgpu.GPURenderPipeline, wgpu.GPUBindGroup, RenderPass]:
        layout = bind_group_layout(self._gpu, kinds, FRAGMENT)
        defines = {"FILL": False, "SRGB": False} if shader == SHRINK_SHADER else {}
        pipeline = fullscreen_pipeline(self._gpu, shader, fragment, layout, [{"format": COLOR}], defines=defines)
        described = RenderPass([{"view": into, "load_op": "clear", "store_op": "store"}])
        return pipeline, bind_group(self._gpu, layout, resources), described


def _level_sampler(gpu: Gpu) -> wgpu.GPUSampler:
    return gpu.device.create_sampler(mag_filter="linear", min_filter="linear", mipmap_filter="linear")
