"""`OpacityImage`: the optical depths of one volume along the sun's light, found by a compute shader (record 0161)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import wgpu

from ...gpu import Gpu
from ..bindings import COMPUTE, FRAGMENT, bind_group, bind_group_layout
from ..pipelines import compute_pipeline, dispatch, fullscreen_pipeline, tiles
from ..sun import PLANES
from ..target import COLOR, OPACITY, pass_states
from .base import Frame

ENTRY, COVER_SHADER = "shade_pixels", "draw/opacity_cover.wgsl"


class OpacityImage:
    """For maps of any size: `compute` outside of any pass, then `cover` in the pass that adds up all volumes.

    `layout` is that of group 0 of the shader, whose entry `shade_pixels` writes to group 1.
    """

    def __init__(self, gpu: Gpu, shader: str, layout: wgpu.GPUBindGroupLayout, defines: Mapping[str, Any]):
        self._gpu, self._texels = gpu, 0
        self._written = bind_group_layout(gpu, ("stored layers",), COMPUTE)
        self._layout = bind_group_layout(gpu, ("unfilterable textures",), FRAGMENT)
        defines = {**defines, "FORMAT": COLOR}
        self._pipeline = compute_pipeline(gpu, shader, ENTRY, [layout, self._written], defines)
        self._cover = fullscreen_pipeline(
            *(gpu, COVER_SHADER, "cover_fragment", self._layout),
            defines={"LIQUID": False},
            **pass_states(gpu, "opacity", over=True)._asdict(),
        )

    def compute(self, texels: int, frame: Frame, group: wgpu.GPUBindGroup, style_offset: int) -> None:
        """Record the march through every texel of a map; `group` has what the layer reads."""
        if texels != self._texels:
            self._resize(texels)
        groups, offsets = (group, self._target), (frame.view_offset, style_offset)
        dispatch(self._gpu, "shadows", self._pipeline, groups, offsets, tiles((texels, texels)))

    def cover(self, pass_: wgpu.GPURenderPassEncoder) -> None:
        """Add what was found to the map."""
        pass_.set_pipeline(self._cover)
        pass_.set_bind_group(0, self._source)
        pass_.draw(3)

    def _resize(self, texels: int) -> None:
        view = self._gpu.create_texture(
            size=(texels, texels, PLANES // 4),
            format=OPACITY,
            usage=wgpu.TextureUsage.STORAGE_BINDING | wgpu.TextureUsage.TEXTURE_BINDING,
        ).create_view(dimension="2d-array")
        self._target = bind_group(self._gpu, self._written, [view])
        self._source = bind_group(self._gpu, self._layout, [view])
        self._texels = texels
