"""`Highlight`: a ring around one row, drawn over the finished image at the row's current position."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import wgpu

from ..gpu import Gpu, RenderPass
from .bindings import Bindings
from .layers.attributes import Bound
from .layers.base import Layer
from .pipelines import draw_cache, render_pipeline
from .target import BLEND_OVER
from .view import UNIT_HEIGHT, VIEW_SIZE

SHADER = "draw/highlight.wgsl"
MARK = struct.Struct("<4f")  # `Mark` in the shader


@dataclass(frozen=True)
class Mark:
    """The row to mark; `corners` are those of the cell whose edges are drawn too."""

    layer: Layer
    row: int
    corners: tuple[int, int, int] | None = None


class Highlight:
    """Draws marks over images of one format. Reads positions from their own blocks, without a copy or a wait."""

    def __init__(self, gpu: Gpu, color_format: str):
        self._gpu = gpu
        self._format = color_format
        self._bindings = Bindings(gpu, (VIEW_SIZE, MARK.size))
        self._group = self._bindings.create()
        self._pass = RenderPass([{"load_op": "load", "store_op": "store"}])

    def record(
        self,
        mark: Mark,
        view_offset: int,
        size: tuple[int, int],
        corner: tuple[int, int],
        target_view: wgpu.GPUTextureView,
    ) -> None:
        """Record the mark over the image of `size`, at `corner` of the target, with the view it was drawn with."""
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
        found = [bound for bound in (position, second) if bound is not None]

        def create() -> wgpu.GPURenderPipeline:
            return render_pipeline(
                self._gpu,
                SHADER,
                (f"{stage}_vertex", f"{stage}_fragment"),
                [self._bindings.layout],
                [{"format": self._format, "blend": BLEND_OVER}],
                defines={
                    "POSITION": position.layout.wgsl,
                    "SIZE": sizes.layout.wgsl if sizes else "",
                    "ENCODED_BY_TARGET": self._format.endswith("-srgb"),
                },
                buffers=[_descriptor(bound, slot) for slot, bound in enumerate(found)],
                topology="triangle-strip",
            )

        key = (SHADER, stage, self._format, *[bound.layout.format for bound in found])
        return draw_cache(self._gpu).get(key, create)


def _descriptor(bound: Bound, slot: int) -> dict[str, Any]:
    """One instance, at the row itself: no stride."""
    attribute = {"format": bound.layout.format, "offset": 0, "shader_location": slot}
    return {"array_stride": 0, "step_mode": "instance", "attributes": [attribute]}


def _set_row(pass_: wgpu.GPURenderPassEncoder, slot: int, bound: Bound, row: int) -> None:
    tensor, layout = bound.tensor, bound.layout
    nbytes = layout.nbytes - (layout.rows - 1) * layout.stride
    pass_.set_vertex_buffer(slot, tensor.block.buffer, tensor.offset + row * layout.stride, nbytes)
