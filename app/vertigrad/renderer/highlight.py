"""`Highlight`: a ring around one row, drawn over the finished picture where the row lies at this moment."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import wgpu

from ..gpu import Gpu, RenderPass
from .layers.attributes import Bound
from .layers.base import Layer
from .pipelines import draw_cache, draw_shader
from .target import BLEND_OVER
from .view import VIEW_SIZE

SHADER = "draw/highlight.wgsl"
MARK = struct.Struct("<4f")  # `Mark` in the shader
UNIT_HEIGHT = 800.0  # pixels of a picture in which lines are one unit wide; they grow with larger ones


@dataclass(frozen=True)
class Mark:
    """The row to be marked; `corners` are those of the cell whose edges are drawn too."""

    layer: Layer
    row: int
    corners: tuple[int, int, int] | None = None


class Highlight:
    """Draws marks over pictures of one format. Reads positions where they lie: nothing is copied, or waited for."""

    def __init__(self, gpu: Gpu, color_format: str):
        self._gpu = gpu
        self._format = color_format
        self._layout = _layout(gpu)
        ring = gpu.uniforms.buffer
        entries: list[Any] = [
            {"binding": number, "resource": {"buffer": ring, "offset": 0, "size": size}}
            for number, size in enumerate((VIEW_SIZE, MARK.size))
        ]
        self._group = gpu.device.create_bind_group(layout=self._layout, entries=entries)
        self._pass = RenderPass([{"load_op": "load", "store_op": "store"}])

    def record(
        self,
        mark: Mark,
        view_offset: int,
        size: tuple[int, int],
        corner: tuple[int, int],
        target_view: wgpu.GPUTextureView,
    ) -> None:
        """Record the mark over the picture of `size`, at `corner` of the target, with the view it was drawn with."""
        attributes = mark.layer.attributes
        position, sizes = attributes.tensors["position"], attributes.tensors.get("size")
        factor = attributes.constants.get("size", 0.0) if sizes is None else 1.0
        unit = max(size[1] / UNIT_HEIGHT, 1.0)
        offset = self._gpu.uniforms.push(MARK.pack(*size, unit, factor if isinstance(factor, float | int) else 0.0))
        self._gpu.recorder.use(mark.layer.blocks())
        with self._gpu.recorder.render_pass("highlight", self._pass, target_view) as pass_:
            pass_.set_viewport(*corner, *size, 0.0, 1.0)
            pass_.set_scissor_rect(*corner, *size)
            if mark.corners is not None:
                self._draw_edges(pass_, position, mark.corners, (view_offset, offset))
            pass_.set_pipeline(self._pipeline("ring", position, sizes))
            pass_.set_bind_group(0, self._group, (view_offset, offset))
            for slot, bound in enumerate(filter(None, (position, sizes))):
                _set_row(pass_, slot, bound, mark.row)
            pass_.draw(4)

    def _draw_edges(
        self, pass_: wgpu.GPURenderPassEncoder, position: Bound, corners: tuple[int, int, int], offsets: tuple[int, int]
    ) -> None:
        pass_.set_pipeline(self._pipeline("edge", position, None))
        pass_.set_bind_group(0, self._group, offsets)
        for ends in combinations(corners, 2):
            for slot, row in enumerate(ends):
                _set_row(pass_, slot, position, row)
            pass_.draw(4)

    def _pipeline(self, stage: str, position: Bound, sizes: Bound | None) -> wgpu.GPURenderPipeline:
        second = position if stage == "edge" else sizes
        buffers = [_descriptor(bound, slot) for slot, bound in enumerate((position, second)) if bound is not None]
        defines = {
            "POSITION": position.layout.wgsl,
            "SIZE": sizes.layout.wgsl if sizes else "",
            "ENCODED_BY_TARGET": self._format.endswith("-srgb"),
        }

        def make() -> wgpu.GPURenderPipeline:
            module, device = draw_shader(self._gpu, SHADER, defines), self._gpu.device
            return device.create_render_pipeline(
                label=f"{SHADER}:{stage}",
                layout=device.create_pipeline_layout(bind_group_layouts=[self._layout]),
                vertex={"module": module, "entry_point": f"{stage}_vertex", "buffers": buffers},
                fragment={
                    "module": module,
                    "entry_point": f"{stage}_fragment",
                    "targets": [{"format": self._format, "blend": BLEND_OVER}],  # pyright: ignore
                },
                primitive={"topology": "triangle-strip"},
            )

        formats = tuple(bound.layout.format for bound in (position, second) if bound)
        return draw_cache(self._gpu).get((SHADER, stage, self._format, formats), make)


def _descriptor(bound: Bound, slot: int) -> dict[str, Any]:
    """One instance, at the row itself: no stride."""
    attribute = {"format": bound.layout.format, "offset": 0, "shader_location": slot}
    return {"array_stride": 0, "step_mode": "instance", "attributes": [attribute]}


def _set_row(pass_: wgpu.GPURenderPassEncoder, slot: int, bound: Bound, row: int) -> None:
    tensor, layout = bound.tensor, bound.layout
    nbytes = layout.nbytes - (layout.rows - 1) * layout.stride
    pass_.set_vertex_buffer(slot, tensor.block.buffer, tensor.offset + row * layout.stride, nbytes)


def _layout(gpu: Gpu) -> wgpu.GPUBindGroupLayout:
    both = wgpu.ShaderStage.VERTEX | wgpu.ShaderStage.FRAGMENT
    uniform = {"type": "uniform", "has_dynamic_offset": True}
    entries: list[Any] = [{"binding": number, "visibility": both, "buffer": uniform} for number in (0, 1)]
    return draw_cache(gpu).get("highlight layout", lambda: gpu.device.create_bind_group_layout(entries=entries))
