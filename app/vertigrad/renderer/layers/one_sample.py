"""`MarchedImage` and `SoftImage`: layers that blend in one sample of each pixel, drawn over the image as a whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import wgpu

from ...gpu import Gpu, RenderPass
from ..bindings import FRAGMENT, bind_group, bind_group_layout
from ..computed_image import ComputedImage
from ..pipelines import fullscreen_pipeline
from ..target import NO_DEPTH_TEST, Colors, create_view, pass_states
from .base import Frame

COVER_SHADER, ENTRY = "draw/march_cover.wgsl", "march_pixels"


class MarchedImage(ComputedImage):
    """What lines of sight meet in a box: `march` after opaque objects, outside of any pass, then `cover`."""

    def __init__(self, gpu: Gpu, shader: str, layout: wgpu.GPUBindGroupLayout, defines: Mapping[str, Any]):
        super().__init__(gpu, shader, ENTRY, layout, defines)
        self._cover = Cover(gpu)

    def march(self, frame: Frame, group: wgpu.GPUBindGroup, style_offset: int) -> None:
        """Record the march of every pixel; `group` has what the layer reads."""
        assert frame.lighting is not None
        self.compute(_size(frame), frame.lighting, group, (frame.view_offset, style_offset))

    def cover(self, pass_: wgpu.GPURenderPassEncoder, colors: Colors, display_referred: bool) -> None:
        """Draw what was found into all samples of each pixel."""
        self._cover.draw(pass_, self.source, colors, display_referred)


class SoftImage:
    """What has no outlines of its own: `record` after opaque objects, outside of any pass, then `cover`.

    Blending a sample costs a quarter of blending four.
    """

    def __init__(self, gpu: Gpu):
        self._gpu, self._cover = gpu, Cover(gpu)
        self._size_and_format: tuple[object, ...] = ()

    def record(self, frame: Frame, draw: Callable[[wgpu.GPURenderPassEncoder], None]) -> None:
        """Record a pass in which `draw` draws a frame of "soft"."""
        size_and_format = (_size(frame), frame.colors.format)
        if size_and_format != self._size_and_format:
            view = create_view(self._gpu, *size_and_format)
            clear = {"resolve_target": None, "clear_value": (0, 0, 0, 0), "load_op": "clear", "store_op": "store"}
            self._pass = RenderPass([{"view": view, **clear}])
            self._source = bind_group(self._gpu, self._cover.layout, [view])
            self._size_and_format = size_and_format
        with self._gpu.recorder.render_pass("layers", self._pass) as pass_:
            draw(pass_)

    def cover(self, pass_: wgpu.GPURenderPassEncoder, colors: Colors, display_referred: bool) -> None:
        """Draw that into all samples of each pixel."""
        self._cover.draw(pass_, self._source, colors, display_referred)


class Cover:
    """Blends a texture of premultiplied colors, bound by `layout`, over an image."""

    def __init__(self, gpu: Gpu):
        self._gpu, self.layout = gpu, bind_group_layout(gpu, ("unfilterable",), FRAGMENT)
        self._pipelines: dict[tuple[Colors, bool], wgpu.GPURenderPipeline] = {}

    def draw(
        self, pass_: wgpu.GPURenderPassEncoder, source: wgpu.GPUBindGroup, colors: Colors, display_referred: bool
    ) -> None:
        """Draw it into all samples of each pixel."""
        if (colors, display_referred) not in self._pipelines:
            states = pass_states(self._gpu, "color", over=True, colors=colors, display_referred=display_referred)
            self._pipelines[colors, display_referred] = fullscreen_pipeline(
                *(self._gpu, COVER_SHADER, "cover_fragment", self.layout),
                **states._replace(depth=NO_DEPTH_TEST)._asdict(),
            )
        pass_.set_pipeline(self._pipelines[colors, display_referred])
        pass_.set_bind_group(0, source)
        pass_.draw(3)


def _size(frame: Frame) -> tuple[int, int]:
    assert frame.depth is not None
    width, height, _ = frame.depth.texture.size
    return width, height
