"""`Occlusion`: the share of the sky that each place sees past what is near, from how deep things on the screen lie."""

from __future__ import annotations

from typing import Any

import wgpu

from ..gpu import Gpu, RenderPass
from .pipelines import draw_cache, fullscreen_pipeline
from .quality import HIGH, Level
from .view import VIEW_SIZE

SHADER = "draw/occlusion.wgsl"
FORMAT = "rg16float"
SMALLER = 2  # than the picture


class Occlusion:
    """Works on pictures of `size` pixels, as finely as `level` says; `open` is the result, half as wide and high."""

    def __init__(self, gpu: Gpu, depths: wgpu.GPUTextureView, size: tuple[int, int], level: Level = HIGH):
        self._gpu = gpu
        self._defines = {"PLANES": level.sky_planes, "STEPS": level.sky_steps}
        self._layouts = _layouts(gpu)
        self.compile()
        half = tuple(max(1, -(-n // SMALLER)) for n in size)
        found, self.open = (_texture(gpu, half) for _ in range(2))
        ring = {"buffer": gpu.uniforms.buffer, "offset": 0, "size": VIEW_SIZE}
        resources = ({0: ring, 1: depths}, {2: found})
        self._groups = [
            gpu.device.create_bind_group(
                layout=layout,
                entries=[{"binding": n, "resource": part} for n, part in parts.items()],  # pyright: ignore
            )
            for layout, parts in zip(self._layouts, resources, strict=True)
        ]
        self._passes = [
            RenderPass([{"view": view, "load_op": "clear", "store_op": "store"}]) for view in (found, self.open)
        ]

    def compile(self) -> None:
        """Make the pipelines, or make them anew from a shader that has changed. Raises `ShaderError`."""
        self._pipelines = [
            fullscreen_pipeline(self._gpu, SHADER, entry, FORMAT, layout, defines=self._defines)
            for entry, layout in zip(("search_fragment", "smooth_fragment"), self._layouts, strict=True)
        ]

    def record(self, view_offset: int) -> None:
        """Record the passes that make `open` of the depths."""
        parts = zip(self._passes, self._pipelines, self._groups, ((view_offset,), ()), strict=True)
        for described, pipeline, group, offsets in parts:
            with self._gpu.recorder.render_pass("occlusion", described) as pass_:
                pass_.set_pipeline(pipeline)
                pass_.set_bind_group(0, group, offsets)
                pass_.draw(3)


def _layouts(gpu: Gpu) -> list[wgpu.GPUBindGroupLayout]:
    kinds: tuple[dict[int, dict[str, Any]], ...] = (
        {0: {"buffer": {"type": "uniform", "has_dynamic_offset": True}}, 1: {"texture": {"sample_type": "depth"}}},
        {2: {"texture": {"sample_type": "unfilterable-float"}}},
    )
    fragment = wgpu.ShaderStage.FRAGMENT
    entries: list[list[Any]] = [
        [{"binding": n, "visibility": fragment, **kind} for n, kind in parts.items()] for parts in kinds
    ]
    device = gpu.device
    return draw_cache(gpu).get(
        "occlusion layouts", lambda: [device.create_bind_group_layout(entries=parts) for parts in entries]
    )


def _texture(gpu: Gpu, size: tuple[int, ...]) -> wgpu.GPUTextureView:
    usage = wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.TEXTURE_BINDING
    return gpu.create_texture(size=(*size, 1), format=FORMAT, usage=usage).create_view()  # pyright: ignore
