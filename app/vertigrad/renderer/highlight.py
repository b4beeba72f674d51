"""`Highlight`: marks at the current positions of rows, drawn over the finished image."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import wgpu

from ..gpu import Gpu, RenderPass
from ..tensor import Tensor
from .bindings import Bindings
from .layers.attributes import Bound
from .layers.base import Layer
from .pipelines import draw_cache, render_pipeline
from .target import BLEND_OVER
from .view import UNIT_HEIGHT
from .view_uniforms import VIEW_SIZE

SHADER = "draw/highlight.wgsl"
MARK = struct.Struct("<4f")  # `Mark` in the shader


@dataclass(frozen=True)
class Mark:
    """The row to mark; `corners` are those of the cell whose edges are drawn too."""

    layer: Layer
    row: int
    corners: tuple[int, int, int] | None = None


@dataclass(frozen=True)
class RowMarks:
    """Rows to mark by dots: `selected`, u32 (rows,), is not 0 for them."""

    layer: Layer
    selected: Tensor


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
        marks: Sequence[Mark | RowMarks],
        view_offset: int,
        size: tuple[int, int],
        corner: tuple[int, int],
        target_view: wgpu.GPUTextureView,
    ) -> None:
        """Record marks over the image of `size`, at `corner` of the target, with the view it was drawn with."""
        unit = max(size[1] / UNIT_HEIGHT, 1.0)
        for mark in marks:
            self._gpu.recorder.use(mark.layer.blocks())
            if isinstance(mark, RowMarks):
                self._gpu.recorder.use([mark.selected.block])
        with self._gpu.recorder.render_pass("highlight", self._pass, target_view) as pass_:
            pass_.set_viewport(*corner, *size, 0.0, 1.0)
            pass_.set_scissor_rect(*corner, *size)
            for mark in marks:
                factor = mark.layer.attributes.constants.get("size", 0.0) if _sizes(mark.layer) is None else 1.0
                values = MARK.pack(*size, unit, factor if isinstance(factor, float | int) else 0.0)
                offsets = view_offset, self._gpu.uniforms.push(values)
                if isinstance(mark, RowMarks):
                    self._draw_dots(pass_, mark, offsets)
                else:
                    self._draw_row(pass_, mark, offsets)

    def _draw_row(self, pass_: wgpu.GPURenderPassEncoder, mark: Mark, offsets: tuple[int, int]) -> None:
        position, sizes = mark.layer.attributes.tensors["position"], _sizes(mark.layer)
        if mark.corners is not None:
            self._draw_edges(pass_, position, mark.corners, offsets)
        pass_.set_pipeline(self._pipeline("ring", position, sizes))
        pass_.set_bind_group(0, self._group, offsets)
        for slot, bound in enumerate(filter(None, (position, sizes))):
            _set_row(pass_, slot, bound, mark.row)
        pass_.draw(4)

    def _draw_dots(self, pass_: wgpu.GPURenderPassEncoder, marks: RowMarks, offsets: tuple[int, int]) -> None:
        position, selected = marks.layer.attributes.tensors["position"], marks.selected
        pass_.set_pipeline(self._dots_pipeline(position))
        pass_.set_bind_group(0, self._group, offsets)
        tensor, layout = position.tensor, position.layout
        pass_.set_vertex_buffer(0, tensor.block.buffer, tensor.offset, layout.nbytes)
        pass_.set_vertex_buffer(1, selected.block.buffer, selected.offset, 4 * layout.rows)
        pass_.draw(4, layout.rows)

    def _dots_pipeline(self, position: Bound) -> wgpu.GPURenderPipeline:
        stride, format = position.layout.stride, position.layout.format
        buffers = [_descriptor(format, 0, stride), _descriptor("uint32", 1, 4)]
        return self._cached("dots", position, None, buffers, (format, stride))

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
        formats = [bound.layout.format for bound in (position, second) if bound is not None]
        buffers = [_descriptor(format, slot) for slot, format in enumerate(formats)]
        return self._cached(stage, position, sizes, buffers, formats)

    def _cached(
        self, stage: str, position: Bound, sizes: Bound | None, buffers: list[dict[str, Any]], key: Iterable[object]
    ) -> wgpu.GPURenderPipeline:
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
                buffers=buffers,
                topology="triangle-strip",
            )

        return draw_cache(self._gpu).get((SHADER, stage, self._format, *key), create)


def _sizes(layer: Layer) -> Bound | None:
    return layer.attributes.tensors.get("size")


def _descriptor(format: str, slot: int, stride: int = 0) -> dict[str, Any]:
    """An attribute of each instance; without a stride of the row at which the buffer is bound."""
    attribute = {"format": format, "offset": 0, "shader_location": slot}
    return {"array_stride": stride, "step_mode": "instance", "attributes": [attribute]}


def _set_row(pass_: wgpu.GPURenderPassEncoder, slot: int, bound: Bound, row: int) -> None:
    tensor, layout = bound.tensor, bound.layout
    nbytes = layout.nbytes - (layout.rows - 1) * layout.stride
    pass_.set_vertex_buffer(slot, tensor.block.buffer, tensor.offset + row * layout.stride, nbytes)
