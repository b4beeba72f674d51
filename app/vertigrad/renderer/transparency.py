"""`Transparency`: transparent surfaces, added up without an order and composited over opaque ones.

McGuire and Bavoil 2013, "Weighted Blended Order-Independent Transparency", JCGT 2; the sums are those of
shaders/common/transparency.wgsl.
"""

from __future__ import annotations

from collections.abc import Iterable

import wgpu

from ..gpu import Gpu, RenderPass
from .bindings import FRAGMENT, bind_group, bind_group_layout
from .layers.base import Frame, Layer
from .pipelines import fullscreen_pipeline
from .target import SAMPLES, THROUGH, WEIGHED, Target, cover_states, create_view

SHADER = "draw/transparency.wgsl"


class Transparency:
    """The sums for images of the current size of `target`; must be recreated when that is resized."""

    def __init__(self, gpu: Gpu, target: Target):
        self._gpu = gpu
        self._layout, self._colors = bind_group_layout(gpu, ("unfilterable", "unfilterable"), FRAGMENT), target.colors
        self.compile()
        formats = ((WEIGHED, (0.0, 0.0, 0.0, 0.0)), (THROUGH, (1.0, 1.0, 1.0, 1.0)))
        drawn = wgpu.TextureUsage.RENDER_ATTACHMENT
        sums = [create_view(gpu, target.size, format) for format, _ in formats]
        attachments = [
            {
                "view": create_view(gpu, target.size, format, drawn, SAMPLES),
                "resolve_target": sum_,
                "clear_value": start,
                "load_op": "clear",
                "store_op": "discard",
            }
            for (format, start), sum_ in zip(formats, sums, strict=True)
        ]
        self._pass = RenderPass(attachments, {"view": target.depth, "depth_read_only": True})
        self._group = bind_group(gpu, self._layout, sums)

    def compile(self) -> None:
        """Create the pipeline; also called after the shader has changed. Raises `ShaderError`."""
        self._pipeline = fullscreen_pipeline(
            self._gpu, SHADER, "cover_fragment", self._layout, **cover_states(self._gpu, self._colors)._asdict()
        )

    def record(self, layers: Iterable[Layer], frame: Frame, lighting: wgpu.GPUBindGroup) -> None:
        """Record the pass that adds up the transparent parts of `layers`, after the depth of opaque parts."""
        frame = Frame(frame.view_offset, drawn="clear", area_lights=frame.area_lights)
        with self._gpu.recorder.render_pass("transparency", self._pass) as pass_:
            pass_.set_bind_group(1, lighting)
            for layer in layers:
                layer.drawing.draw(pass_, frame)

    def cover(self, pass_: wgpu.GPURenderPassEncoder) -> None:
        """Draw the sums over the opaque image."""
        pass_.set_pipeline(self._pipeline)
        pass_.set_bind_group(0, self._group)
        pass_.draw(3)
