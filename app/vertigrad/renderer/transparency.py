"""`Transparency`: what is transparent, added up without an order and put over what is solid.

McGuire and Bavoil 2013, "Weighted Blended Order-Independent Transparency", JCGT 2; the sums are those of
shaders/common/transparency.wgsl.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import wgpu

from ..gpu import Gpu, RenderPass
from .layers.base import Frame, Layer
from .pipelines import draw_cache, draw_shader
from .target import DEPTH, SAMPLES, THROUGH, WEIGHED, Target, color_targets

SHADER = "draw/transparency.wgsl"


class Transparency:
    """The sums for pictures as large as `target` is now; it is made anew when that is resized."""

    def __init__(self, gpu: Gpu, target: Target):
        self._gpu = gpu
        self._layout, self._split = _layout(gpu), target.split
        self.compile()
        formats = ((WEIGHED, (0.0, 0.0, 0.0, 0.0)), (THROUGH, (1.0, 1.0, 1.0, 1.0)))
        sums = [_texture(gpu, target.size, format, 1) for format, _ in formats]
        attachments = [
            {
                "view": _texture(gpu, target.size, format, SAMPLES),
                "resolve_target": sum_,
                "clear_value": start,
                "load_op": "clear",
                "store_op": "discard",
            }
            for (format, start), sum_ in zip(formats, sums, strict=True)
        ]
        self._pass = RenderPass(attachments, {"view": target.depth, "depth_read_only": True})
        entries: list[Any] = [{"binding": n, "resource": sum_} for n, sum_ in enumerate(sums)]
        self._group = gpu.device.create_bind_group(layout=self._layout, entries=entries)

    def compile(self) -> None:
        """Make the pipeline, or make it anew from a shader that has changed. Raises `ShaderError`."""
        self._pipeline = _pipeline(self._gpu, self._layout, self._split)

    def record(self, layers: Iterable[Layer], view_offset: int, lighting: wgpu.GPUBindGroup) -> None:
        """Record the pass that adds up what of `layers` is transparent; the depth of what is solid is finished."""
        frame = Frame(view_offset, drawn="clear")
        with self._gpu.recorder.render_pass("transparency", self._pass) as pass_:
            pass_.set_bind_group(1, lighting)
            for layer in layers:
                layer.draw(pass_, frame)

    def cover(self, pass_: wgpu.GPURenderPassEncoder) -> None:
        """Draw the sums over what is solid."""
        pass_.set_pipeline(self._pipeline)
        pass_.set_bind_group(0, self._group)
        pass_.draw(3)


def _texture(gpu: Gpu, size: tuple[int, int], format: str, samples: int) -> wgpu.GPUTextureView:
    usage = wgpu.TextureUsage.RENDER_ATTACHMENT
    if samples == 1:
        usage |= wgpu.TextureUsage.TEXTURE_BINDING
    texture = gpu.create_texture(
        size=(*size, 1),
        format=format,  # pyright: ignore[reportArgumentType]
        usage=usage,
        sample_count=samples,
    )
    return texture.create_view()


def _layout(gpu: Gpu) -> wgpu.GPUBindGroupLayout:
    texture = {"visibility": wgpu.ShaderStage.FRAGMENT, "texture": {"sample_type": "unfilterable-float"}}
    entries: list[Any] = [{"binding": n, **texture} for n in (0, 1)]
    return draw_cache(gpu).get("transparency layout", lambda: gpu.device.create_bind_group_layout(entries=entries))


def _pipeline(gpu: Gpu, layout: wgpu.GPUBindGroupLayout, split: bool) -> wgpu.GPURenderPipeline:
    def make() -> wgpu.GPURenderPipeline:
        module = draw_shader(gpu, SHADER, {})
        targets: Any = color_targets(over=True, split=split)
        return gpu.device.create_render_pipeline(
            label=SHADER,
            layout=gpu.device.create_pipeline_layout(bind_group_layouts=[layout]),
            vertex={"module": module, "entry_point": "fullscreen_vertex"},
            fragment={"module": module, "entry_point": "cover_fragment", "targets": targets},
            depth_stencil={"format": DEPTH, "depth_write_enabled": False, "depth_compare": "always"},
            multisample={"count": SAMPLES},
        )

    return draw_cache(gpu).get((SHADER, "cover", split), make)
