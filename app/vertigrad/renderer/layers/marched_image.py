"""`MarchedImage`: what the lines of sight of all samples of an image meet in a box, found by a compute shader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import wgpu

from ...gpu import Gpu
from ..bindings import COMPUTE, bind_group, bind_group_layout, lighting_layout
from ..pipelines import compute_pipeline, dispatch, tiles
from ..sample_image import SampleImage, stored_kind
from ..target import COLOR, Colors
from .base import Frame

ENTRY = "march_pixels"


class MarchedImage:
    """For images of any size: `march` after opaque objects, outside of any pass, then `cover` as the layer blends.

    `layout` is that of group 0 of the shader, whose entry `march_pixels` writes to group 2.
    """

    def __init__(self, gpu: Gpu, shader: str, layout: wgpu.GPUBindGroupLayout, defines: Mapping[str, Any]):
        self._gpu, self._shader, self._layout, self._defines = gpu, shader, layout, defines
        self._image: SampleImage | None = None
        self._pipelines: dict[str, wgpu.GPUComputePipeline] = {}
        self._pipeline(COLOR)

    def march(self, frame: Frame, group: wgpu.GPUBindGroup, style_offset: int) -> None:
        """Record the march of every pixel; `group` has what the layer reads."""
        assert frame.lighting is not None
        image, offsets = self._fitted(frame), (frame.view_offset, style_offset)
        groups = group, frame.lighting, self._target
        dispatch(self._gpu, "layers", self._pipeline(image.format), groups, offsets, tiles(image.size))

    def cover(self, pass_: wgpu.GPURenderPassEncoder, colors: Colors, display_referred: bool) -> None:
        """Blend what was found over the image."""
        assert self._image is not None, "it was marched"
        self._image.cover(pass_, colors, display_referred)

    def _fitted(self, frame: Frame) -> SampleImage:
        image, format = self._image, frame.colors.format
        if image is None or (image.size, image.format) != (frame.size, format):
            image = self._image = SampleImage(self._gpu, frame.size, format, blended=True)
            self._target = bind_group(self._gpu, self._written(format), [image.view])
        return image

    def _pipeline(self, format: str) -> wgpu.GPUComputePipeline:
        if format not in self._pipelines:
            layouts = [self._layout, lighting_layout(self._gpu), self._written(format)]
            defines = {**self._defines, "FORMAT": format}
            self._pipelines[format] = compute_pipeline(self._gpu, self._shader, ENTRY, layouts, defines)
        return self._pipelines[format]

    def _written(self, format: str) -> wgpu.GPUBindGroupLayout:
        return bind_group_layout(self._gpu, (stored_kind(format),), COMPUTE)
