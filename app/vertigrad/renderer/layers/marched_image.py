"""`MarchedImage`: what lines of sight meet in a box, for one sample of each pixel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import wgpu

from ...gpu import Gpu
from ..computed_image import ComputedImage
from ..pipelines import fullscreen_pipeline
from ..target import NO_DEPTH_TEST, Colors, pass_states
from .base import Frame

COVER_SHADER, ENTRY = "draw/march_cover.wgsl", "march_pixels"


class MarchedImage(ComputedImage):
    """`march` after opaque objects, outside of any pass, then `cover` as the layer blends."""

    def __init__(self, gpu: Gpu, shader: str, layout: wgpu.GPUBindGroupLayout, defines: Mapping[str, Any]):
        super().__init__(gpu, shader, ENTRY, layout, defines)
        self._covers: dict[tuple[Colors, bool], wgpu.GPURenderPipeline] = {}

    def march(self, frame: Frame, group: wgpu.GPUBindGroup, style_offset: int) -> None:
        """Record the march of every pixel; `group` has what the layer reads."""
        assert frame.depth is not None and frame.lighting is not None
        width, height, _ = frame.depth.texture.size
        self.compute((width, height), frame.lighting, group, (frame.view_offset, style_offset))

    def cover(self, pass_: wgpu.GPURenderPassEncoder, colors: Colors, display_referred: bool) -> None:
        """Draw what was found into all samples of each pixel."""
        if (colors, display_referred) not in self._covers:
            states = pass_states(self._gpu, "color", over=True, colors=colors, display_referred=display_referred)
            self._covers[colors, display_referred] = fullscreen_pipeline(
                *(self._gpu, COVER_SHADER, "cover_fragment", self.source_layout),
                **states._replace(depth=NO_DEPTH_TEST)._asdict(),
            )
        pass_.set_pipeline(self._covers[colors, display_referred])
        pass_.set_bind_group(0, self.source)
        pass_.draw(3)
