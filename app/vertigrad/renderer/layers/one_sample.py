"""`SoftImage`: a layer without outlines, in one sample of each pixel, drawn over the image as a whole."""

from __future__ import annotations

from collections.abc import Callable

import wgpu

from ...gpu import Gpu, RenderPass
from ..bindings import FRAGMENT, bind_group, bind_group_layout
from ..pipelines import fullscreen_pipeline
from ..target import NO_DEPTH_TEST, Colors, create_view, pass_states
from .base import Frame

COVER_SHADER = "draw/soft_cover.wgsl"


class SoftImage:
    """`record` after opaque objects, outside of any pass, then `cover`. Blending a sample costs a quarter of four."""

    def __init__(self, gpu: Gpu):
        self._gpu, self._layout = gpu, bind_group_layout(gpu, ("unfilterable",), FRAGMENT)
        self._size_and_format: tuple[object, ...] = ()
        self._pipelines: dict[tuple[Colors, bool], wgpu.GPURenderPipeline] = {}

    def record(self, frame: Frame, draw: Callable[[wgpu.GPURenderPassEncoder], None]) -> None:
        """Record a pass in which `draw` draws a frame of "soft"."""
        size_and_format = frame.size, frame.colors.format
        if size_and_format != self._size_and_format:
            view = create_view(self._gpu, *size_and_format)
            clear = {"resolve_target": None, "clear_value": (0, 0, 0, 0), "load_op": "clear", "store_op": "store"}
            self._pass = RenderPass([{"view": view, **clear}])
            self._source = bind_group(self._gpu, self._layout, [view])
            self._size_and_format = size_and_format
        with self._gpu.recorder.render_pass("layers", self._pass) as pass_:
            draw(pass_)

    def cover(self, pass_: wgpu.GPURenderPassEncoder, colors: Colors, display_referred: bool) -> None:
        """Blend that over all samples of each pixel."""
        if (colors, display_referred) not in self._pipelines:
            states = pass_states(self._gpu, "color", over=True, colors=colors, display_referred=display_referred)
            self._pipelines[colors, display_referred] = fullscreen_pipeline(
                *(self._gpu, COVER_SHADER, "cover_fragment", self._layout),
                **states._replace(depth=NO_DEPTH_TEST)._asdict(),
            )
        pass_.set_pipeline(self._pipelines[colors, display_referred])
        pass_.set_bind_group(0, self._source)
        pass_.draw(3)
