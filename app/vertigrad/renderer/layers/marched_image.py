"""`MarchedImage`: what lines of sight meet in a box, found by a compute shader for one sample of each pixel.

Fragments could do the same, but GPUs made for computing run these on few of their multiprocessors: see record 0161.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import wgpu

from ...gpu import Gpu
from ..bindings import COMPUTE, FRAGMENT, bind_group, bind_group_layout, lighting_layout
from ..pipelines import compute_pipeline, fullscreen_pipeline
from ..target import NO_DEPTH_TEST, Colors, create_view, pass_states
from .base import Frame

COVER_SHADER, ENTRY = "draw/march_cover.wgsl", "march_pixels"
FORMAT = "rgba32float"  # mirrored in the shaders that march
TILE = 8  # pixels along each side of a workgroup


class MarchedImage:
    """For images of any size: `march` after opaque objects, outside of any pass, then `cover` as the layer blends.

    `layout` is that of group 0 of the shader, whose entry `march_pixels` writes to group 2.
    """

    def __init__(self, gpu: Gpu, shader: str, layout: wgpu.GPUBindGroupLayout, defines: Mapping[str, Any]):
        self._gpu = gpu
        self._written = bind_group_layout(gpu, ("stored",), COMPUTE)
        self._read = bind_group_layout(gpu, ("unfilterable",), FRAGMENT)
        layouts = [layout, lighting_layout(gpu), self._written]
        self._compute = compute_pipeline(gpu, shader, ENTRY, layouts, defines)
        self._covers: dict[tuple[Colors, bool], wgpu.GPURenderPipeline] = {}
        self._size = (0, 0)

    def march(self, frame: Frame, group: wgpu.GPUBindGroup, style_offset: int) -> None:
        """Record the march of every pixel; `group` has what the layer reads."""
        assert frame.depth is not None and frame.lighting is not None
        width, height, _ = frame.depth.texture.size
        if (width, height) != self._size:
            self._resize(width, height)
        recorder = self._gpu.recorder
        with recorder.group("layers"):
            pass_ = recorder.compute_pass()
            pass_.set_pipeline(self._compute)
            pass_.set_bind_group(0, group, (frame.view_offset, style_offset))
            pass_.set_bind_group(1, frame.lighting)
            pass_.set_bind_group(2, self._target)
            pass_.dispatch_workgroups(-(-width // TILE), -(-height // TILE))
        recorder.dispatches += 1

    def cover(self, pass_: wgpu.GPURenderPassEncoder, colors: Colors, display_referred: bool) -> None:
        """Draw what was found into all samples of each pixel."""
        if (colors, display_referred) not in self._covers:
            states = pass_states(self._gpu, "color", over=True, colors=colors, display_referred=display_referred)
            self._covers[colors, display_referred] = fullscreen_pipeline(
                *(self._gpu, COVER_SHADER, "cover_fragment", self._read),
                **states._replace(depth=NO_DEPTH_TEST)._asdict(),
            )
        pass_.set_pipeline(self._covers[colors, display_referred])
        pass_.set_bind_group(0, self._source)
        pass_.draw(3)

    def _resize(self, width: int, height: int) -> None:
        usage = wgpu.TextureUsage.STORAGE_BINDING | wgpu.TextureUsage.TEXTURE_BINDING
        view = create_view(self._gpu, (width, height), FORMAT, usage)
        self._target = bind_group(self._gpu, self._written, [view])
        self._source = bind_group(self._gpu, self._read, [view])
        self._size = width, height
