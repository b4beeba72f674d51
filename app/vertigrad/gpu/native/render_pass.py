"""Render passes that are described once, and the draw calls in them."""

# pyright: reportAttributeAccessIssue=false
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import wgpu
from wgpu.backends.wgpu_native._api import GPURenderPassEncoder
from wgpu.backends.wgpu_native._mappings import enummap

from .encoders import Uncounted, timestamp_writes
from .foreign import ffi, lib, new_struct_p, to_c_string_view

_OFFSETS = ffi.new("uint32_t[8]")  # dynamic offsets on their way to wgpu, which copies them; 8 is its limit


class DrawEncoder(Uncounted, GPURenderPassEncoder):
    """wgpu-py's render pass with the calls that each layer makes gone raw: 0.4 µs instead of 1 to 2.5 µs.

    Arguments as there. What is wrong with them is raised when the commands are finished.
    """

    _free = staticmethod(lib.wgpuRenderPassEncoderRelease)

    def set_pipeline(self, pipeline: wgpu.GPURenderPipeline) -> None:
        lib.wgpuRenderPassEncoderSetPipeline(self._internal, pipeline._internal)

    def set_bind_group(self, index: int, bind_group: wgpu.GPUBindGroup, offsets: Sequence[int] = ()) -> None:
        count = len(offsets)
        _OFFSETS[0:count] = offsets
        lib.wgpuRenderPassEncoderSetBindGroup(self._internal, index, bind_group._internal, count, _OFFSETS)

    def set_vertex_buffer(self, slot: int, buffer: wgpu.GPUBuffer, offset: int = 0, size: int | None = None) -> None:
        length = size or lib.WGPU_WHOLE_SIZE
        lib.wgpuRenderPassEncoderSetVertexBuffer(self._internal, slot, buffer._internal, offset, length)

    def set_index_buffer(
        self, buffer: wgpu.GPUBuffer, index_format: str, offset: int = 0, size: int | None = None
    ) -> None:
        number, length = enummap[f"IndexFormat.{index_format}"], size or lib.WGPU_WHOLE_SIZE
        lib.wgpuRenderPassEncoderSetIndexBuffer(self._internal, buffer._internal, number, offset, length)

    def set_viewport(self, x: float, y: float, width: float, height: float, min_depth: float, max_depth: float) -> None:
        lib.wgpuRenderPassEncoderSetViewport(self._internal, x, y, width, height, min_depth, max_depth)

    def set_scissor_rect(self, x: int, y: int, width: int, height: int) -> None:
        lib.wgpuRenderPassEncoderSetScissorRect(self._internal, x, y, width, height)

    def draw(self, vertex_count: int, instance_count: int = 1, first_vertex: int = 0, first_instance: int = 0) -> None:
        lib.wgpuRenderPassEncoderDraw(self._internal, vertex_count, instance_count, first_vertex, first_instance)

    def draw_indirect(self, indirect_buffer: wgpu.GPUBuffer, indirect_offset: int) -> None:
        lib.wgpuRenderPassEncoderDrawIndirect(self._internal, indirect_buffer._internal, indirect_offset)

    def draw_indexed(
        self,
        index_count: int,
        instance_count: int = 1,
        first_index: int = 0,
        base_vertex: int = 0,
        first_instance: int = 0,
    ) -> None:
        numbers = index_count, instance_count, first_index, base_vertex, first_instance
        lib.wgpuRenderPassEncoderDrawIndexed(self._internal, *numbers)

    def end(self) -> None:
        lib.wgpuRenderPassEncoderEnd(self._internal)


class VertexBuffers:
    """Vertex buffers for all slots from 0 on, (buffer, offset, size) of each, looked up once for many frames."""

    def __init__(self, parts: Sequence[tuple[wgpu.GPUBuffer, int, int]]):
        self.parts = parts
        self._raw = [(slot, buffer._internal, *where) for slot, (buffer, *where) in enumerate(parts)]

    def set(self, pass_: wgpu.GPURenderPassEncoder) -> None:
        """Bind them all."""
        encoder, set_one = pass_._internal, lib.wgpuRenderPassEncoderSetVertexBuffer
        for slot, buffer, offset, size in self._raw:
            set_one(encoder, slot, buffer, offset, size)


class RenderPass:
    """A render pass whose attachments do not change from frame to frame, described once.

    wgpu-py makes the C structures anew at each `begin_render_pass`, which is most of the 16 µs that it takes. Arguments
    as there; the view of the first color attachment may be left out and given to `begin` instead, for a window that
    draws into another texture each frame.
    """

    def __init__(
        self, color_attachments: Sequence[dict[str, Any]], depth_stencil_attachment: dict[str, Any] | None = None
    ):
        self.color_attachments = color_attachments
        self.depth_stencil_attachment = depth_stencil_attachment
        self._is_open = bool(color_attachments) and "view" not in color_attachments[0]
        self._descriptor: Any = None  # a C structure, once it is described
        self._times: Any = None  # another one, which the descriptor points to while the pass is timed

    def begin(
        self,
        encoder: wgpu.GPUCommandEncoder,
        timestamps: dict[str, Any] | None = None,
        view: wgpu.GPUTextureView | None = None,
    ) -> wgpu.GPURenderPassEncoder:
        """Begin the pass, with wgpu's `timestamp_writes`."""
        if self._descriptor is None:
            self._describe(encoder, view)
        if self._is_open:
            if view is None:
                raise ValueError("this render pass leaves its target open: give begin the view to draw into")
            self._colors[0].view = view._internal
        descriptor: Any = self._descriptor
        if timestamps is not None or self._times is not None:
            times = timestamp_writes(timestamps)
            descriptor.timestampWrites = times
            self._times = times if timestamps else None
        raw = lib.wgpuCommandEncoderBeginRenderPass(encoder._internal, descriptor)
        return DrawEncoder(raw, encoder._device)

    def _describe(self, encoder: wgpu.GPUCommandEncoder, view: wgpu.GPUTextureView | None) -> None:
        colors = [{"view": view, **color} for color in self.color_attachments]
        described = [encoder._create_render_pass_color_attachment(color) for color in colors]
        depth = self.depth_stencil_attachment
        self._colors = ffi.new("WGPURenderPassColorAttachment[]", described)
        self._depth = encoder._create_render_pass_stencil_attachment(depth) if depth else ffi.NULL
        self._descriptor = new_struct_p(
            "WGPURenderPassDescriptor *",
            label=to_c_string_view(""),
            colorAttachments=self._colors,
            colorAttachmentCount=len(described),
            depthStencilAttachment=self._depth,
        )
