"""Raw calls into wgpu-native: the only file that uses them. Each says what it works around or why it is faster.

Written against wgpu-py 0.32.0 / wgpu-native 29.0.1.1. `libf` are the same C functions as `lib` with wgpu-py's check
for errors after each; encoding needs none, since what is wrong in an encoder is raised by its checked `finish()`.
"""

# pyright: reportAttributeAccessIssue=false
from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import wgpu
from wgpu.backends.wgpu_native import ffi, lib
from wgpu.backends.wgpu_native._api import (
    GPUCommandEncoder,
    GPUComputePassEncoder,
    GPURenderPassEncoder,
    GPUShaderModule,
    libf,
    new_struct_p,
    to_c_string_view,
)
from wgpu.backends.wgpu_native._mappings import enum_int2str, enummap

Size: TypeAlias = tuple[int, int, int] | tuple[wgpu.GPUBuffer, int]

UNBOUNDED_CHECKS = 0  # WGPUShaderRuntimeChecks: no bounds checks, no loop limits


def _read_types_quickly(parser: Any) -> None:
    """Let cffi read the name of a C type in 0.2 ms instead of 10 ms.

    It has pycparser read the names of all 300 types of wgpu before each; wgpu-py writes some fifty names until the
    first picture, which took half a second. Only the types that a name mentions can matter.
    """
    parse = parser._parse

    def parse_with_few(source: str) -> Any:
        known, words = parser._declarations, set(re.findall(r"\w+", source))
        parser._declarations = {name: value for name, value in known.items() if name.rpartition(" ")[2] in words}
        try:
            return parse(source)
        finally:
            parser._declarations = known

    parser._parse = parse_with_few


_read_types_quickly(ffi._parser)


Commands: TypeAlias = Any  # wgpu's pointer to a finished command buffer


def submit(queue: wgpu.GPUQueue, commands: Commands) -> int:
    """Submit and return wgpu's own index of the submission, for `wait`. `commands` cannot be used again.

    `on_submitted_work_done` raises TypeError in this version (wgpu-py #834), so fences are made of these indices.
    """
    pointer = ffi.new("WGPUCommandBuffer[1]", [commands])
    try:
        return libf.wgpuQueueSubmitForIndex(queue._internal, 1, pointer)
    finally:
        lib.wgpuCommandBufferRelease(commands)


class HostImage:
    """Host bytes that go to the start of a buffer again and again: one raw write, a third of wgpu-py's cost."""

    def __init__(self, queue: wgpu.GPUQueue, buffer: wgpu.GPUBuffer):
        self.bytes = bytearray(buffer.size)
        self._pointer = ffi.from_buffer(self.bytes)
        self._queue, self._buffer = queue, buffer

    def write(self, nbytes: int) -> None:
        """Write the first `nbytes`, a multiple of 4, before everything in the next submit."""
        libf.wgpuQueueWriteBuffer(self._queue._internal, self._buffer._internal, 0, self._pointer, nbytes)


def submit_writes(queue: wgpu.GPUQueue) -> int:
    """Submit the queue's writes alone; returns the index, as `submit` does."""
    return libf.wgpuQueueSubmitForIndex(queue._internal, 0, ffi.NULL)


def wait(device: wgpu.GPUDevice, index: int) -> None:
    """Block until the submission with wgpu's `index` has finished (wgpu-py #834, see `submit`)."""
    lib.wgpuDevicePoll(device._internal, True, ffi.new("WGPUSubmissionIndex *", index))


def wait_all(device: wgpu.GPUDevice) -> None:
    """Block until everything submitted has finished."""
    lib.wgpuDevicePoll(device._internal, True, ffi.NULL)


def poll(device: wgpu.GPUDevice) -> None:
    """Let callbacks run without waiting.

    What wgpu-native 29 returns here, "the queue is empty", is true also while the GPU is still at work: only `wait` and
    bytes that have arrived prove that a submission has finished.
    """
    lib.wgpuDevicePoll(device._internal, False, ffi.NULL)


def timestamp_period(queue: wgpu.GPUQueue) -> float:
    """Nanoseconds for each tick of a timestamp query; not in wgpu-py's own interface."""
    return float(lib.wgpuQueueGetTimestampPeriod(queue._internal))


def subgroup_sizes(adapter: wgpu.GPUAdapter) -> tuple[int, int]:
    """The fewest and the most invocations of a subgroup; (0, 0) if the driver does not say.

    wgpu-py 0.32 misspells the fields, and always answers 4 and 128.
    """
    info = ffi.new("WGPUAdapterInfo *")
    libf.wgpuAdapterGetInfo(adapter._internal, info)
    sizes = int(info.subgroupMinSize), int(info.subgroupMaxSize)
    lib.wgpuAdapterInfoFreeMembers(info[0])
    return sizes


def trusted_module(device: wgpu.GPUDevice, code: str, label: str) -> wgpu.GPUShaderModule:
    """Compile WGSL without run-time bounds checks (1.18× on all-pairs n-body, H100).

    Only for shaders that ship with the project: an index outside a buffer is undefined behaviour there.
    """
    source = new_struct_p("WGPUShaderSourceWGSL *", code=to_c_string_view(code))
    source[0].chain.next = ffi.NULL
    source[0].chain.sType = lib.WGPUSType_ShaderSourceWGSL
    descriptor = new_struct_p(
        "WGPUShaderModuleDescriptor *",
        nextInChain=ffi.cast("WGPUChainedStruct *", source),
        label=to_c_string_view(label),
    )
    module = libf.wgpuDeviceCreateShaderModuleTrusted(device._internal, descriptor, UNBOUNDED_CHECKS)
    return GPUShaderModule(label, module, device)


def surface_formats(context: wgpu.GPUCanvasContext, adapter: wgpu.GPUAdapter) -> list[str]:
    """The texture formats in which an adapter can draw on a window; none if it cannot at all.

    wgpu-py has two formats in its answer even then, and configuring the surface with one of them ends the process.
    """
    capabilities = ffi.new("WGPUSurfaceCapabilities *")
    libf.wgpuSurfaceGetCapabilities(context._surface_id, adapter._internal, capabilities)
    numbers = [capabilities.formats[index] for index in range(capabilities.formatCount)]
    lib.wgpuSurfaceCapabilitiesFreeMembers(capabilities[0])
    names = enum_int2str["TextureFormat"]
    return [names[number] for number in numbers if number in names]


def set_vsync(context: wgpu.GPUCanvasContext, on: bool) -> None:
    """Take another present mode when the surface is configured next; wgpu-py asks only when a context is made."""
    context._present_info["vsync"] = on


def map_for_reading(buffer: wgpu.GPUBuffer) -> Any:
    """Start mapping a staging buffer; returns wgpu's promise, for `has_arrived` and its own `sync_wait`.

    wgpu-py submits an empty command buffer before each map (wgpu-native #305); the copy was submitted here already.
    """
    return buffer.map_async("READ_NOSYNC")


def has_arrived(promise: Any) -> bool:
    """Whether `sync_wait` of a promise will not wait.

    Without an event loop wgpu-py leaves an arrived promise, and `buffer.map_state`, as they are until somebody waits.
    """
    return promise._thread_event.is_set()


class _Uncounted:
    """A wgpu-py object that lives for a part of a frame: made and released without the 6 µs of logging and counting."""

    _free: Any

    def __init__(self, raw: Any, device: wgpu.GPUDevice):
        self._internal, self._device, self._label = raw, device, ""

    def __del__(self) -> None:
        self._free(self._internal)


class CommandEncoder(_Uncounted, GPUCommandEncoder):
    """wgpu-py's command encoder, made and finished raw."""

    _free = staticmethod(lib.wgpuCommandEncoderRelease)

    def __init__(self, device: wgpu.GPUDevice):
        super().__init__(lib.wgpuDeviceCreateCommandEncoder(device._internal, ffi.NULL), device)

    def finish(self) -> Commands:
        """The commands, for `submit`. Raises what the device found wrong in them."""
        return libf.wgpuCommandEncoderFinish(self._internal, ffi.NULL)


_OFFSETS = ffi.new("uint32_t[8]")  # dynamic offsets on their way to wgpu, which copies them; 8 is its limit


class DrawEncoder(_Uncounted, GPURenderPassEncoder):
    """wgpu-py's render pass with the calls that each layer makes gone raw: 0.4 µs instead of 1 to 2.5 µs.

    Arguments as there. What is wrong with them is raised when the commands are finished.
    """

    _free = staticmethod(lib.wgpuRenderPassEncoderRelease)

    def set_pipeline(self, pipeline: wgpu.GPURenderPipeline) -> None:
        lib.wgpuRenderPassEncoderSetPipeline(self._internal, pipeline._internal)

    def set_bind_group(self, index: int, bind_group: wgpu.GPUBindGroup, offsets: Sequence[int] = ()) -> None:
        for number, offset in enumerate(offsets):
            _OFFSETS[number] = offset
        lib.wgpuRenderPassEncoderSetBindGroup(self._internal, index, bind_group._internal, len(offsets), _OFFSETS)

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
    as there; the view of the first colour attachment may be left out and given to `begin` instead, for a window that
    draws into another texture each frame.
    """

    def __init__(
        self, color_attachments: Sequence[dict[str, Any]], depth_stencil_attachment: dict[str, Any] | None = None
    ):
        self.color_attachments = color_attachments
        self.depth_stencil_attachment = depth_stencil_attachment
        self._descriptor: Any = None  # a C structure, once it is described

    def begin(
        self,
        encoder: wgpu.GPUCommandEncoder,
        timestamps: dict[str, Any] | None = None,
        view: wgpu.GPUTextureView | None = None,
    ) -> wgpu.GPURenderPassEncoder:
        """Begin the pass, with wgpu's `timestamp_writes`."""
        if self._descriptor is None:
            self._describe(encoder, view)
        if self.color_attachments and "view" not in self.color_attachments[0]:
            if view is None:
                raise ValueError("this render pass leaves its target open: give begin the view to draw into")
            self._colors[0].view = view._internal
        self._times = _timestamp_writes(timestamps) if timestamps else ffi.NULL
        descriptor: Any = self._descriptor
        descriptor.timestampWrites = self._times
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


def _timestamp_writes(timestamps: dict[str, Any]) -> Any:
    return new_struct_p(
        "WGPUPassTimestampWrites *",
        querySet=timestamps["query_set"]._internal,
        beginningOfPassWriteIndex=timestamps["beginning_of_pass_write_index"],
        endOfPassWriteIndex=timestamps["end_of_pass_write_index"],
    )


class ComputeEncoder(_Uncounted, GPUComputePassEncoder):
    """wgpu-py's compute pass, begun and ended raw."""

    _free = staticmethod(lib.wgpuComputePassEncoderRelease)

    def __init__(self, encoder: wgpu.GPUCommandEncoder, timestamps: dict[str, Any] | None = None):
        times = _timestamp_writes(timestamps) if timestamps else ffi.NULL
        descriptor = ffi.new("WGPUComputePassDescriptor *")
        descriptor.timestampWrites = times
        super().__init__(lib.wgpuCommandEncoderBeginComputePass(encoder._internal, descriptor), encoder._device)

    def end(self) -> None:
        lib.wgpuComputePassEncoderEnd(self._internal)


class DispatchList:
    """A list of compute dispatches that is encoded by raw calls: about a third of wgpu-py's cost for each.

    `calls` holds (pipeline, bind group, size) for each dispatch: the size as (x, y, z) workgroups, or as the buffer and
    the byte where the GPU finds them. `offsets` is the dynamic uniform offset of each, relative to the base given to
    `encode`; None where a dispatch has no uniform.
    """

    def __init__(
        self,
        calls: Sequence[tuple[wgpu.GPUComputePipeline, wgpu.GPUBindGroup, Size]],
        offsets: Sequence[int | None],
    ):
        self._keep_alive = [*calls]
        self._pointer = ffi.new("uint32_t[]", max(1, len(calls)))
        self._current = np.frombuffer(ffi.buffer(self._pointer), np.uint32)
        self._relative = np.array([offset or 0 for offset in offsets] or [0], np.uint32)
        self._base: int | None = None  # for which `_current` is worked out
        self._calls = []
        last = None
        for i, ((pipeline, group, size), offset) in enumerate(zip(calls, offsets, strict=True)):
            changed = None if pipeline is last else pipeline._internal
            count = 0 if offset is None else 1
            where = (size[0]._internal, size[1], None) if len(size) == 2 else size
            self._calls.append((changed, group._internal, count, self._pointer + i, *where))
            last = pipeline

    def encode(self, compute_pass: wgpu.GPUComputePassEncoder, base: int) -> None:
        """Encode all dispatches, their uniforms lying at `base` plus their own offsets in the ring."""
        if base != self._base:  # often a plan's uniforms lie where they lay in the frame before
            np.add(self._relative, base, out=self._current, casting="unsafe")
            self._base = base
        encoder = compute_pass._internal
        set_pipeline = lib.wgpuComputePassEncoderSetPipeline
        set_bind_group = lib.wgpuComputePassEncoderSetBindGroup
        dispatch = lib.wgpuComputePassEncoderDispatchWorkgroups
        indirect = lib.wgpuComputePassEncoderDispatchWorkgroupsIndirect
        for pipeline, group, count, offset, x, y, z in self._calls:
            if pipeline is not None:
                set_pipeline(encoder, pipeline)
            set_bind_group(encoder, 0, group, count, offset)
            if z is None:
                indirect(encoder, x, y)
            else:
                dispatch(encoder, x, y, z)

    def encode_one(self, compute_pass: wgpu.GPUComputePassEncoder, number: int, base: int) -> None:
        """Encode dispatch `number` alone, in a pass that need not know its pipeline yet."""
        self._current[number], self._base = self._relative[number] + base, None
        encoder, (_, group, count, offset, x, y, z) = compute_pass._internal, self._calls[number]
        lib.wgpuComputePassEncoderSetPipeline(encoder, self._keep_alive[number][0]._internal)
        lib.wgpuComputePassEncoderSetBindGroup(encoder, 0, group, count, offset)
        if z is None:
            lib.wgpuComputePassEncoderDispatchWorkgroupsIndirect(encoder, x, y)
        else:
            lib.wgpuComputePassEncoderDispatchWorkgroups(encoder, x, y, z)

    def encode_part(
        self, compute_pass: wgpu.GPUComputePassEncoder, number: int, uniforms: int, workgroups: int
    ) -> None:
        """Encode so many workgroups of dispatch `number`, with other uniforms, at `uniforms` in the ring."""
        encoder, (_, group, count, *_) = compute_pass._internal, self._calls[number]
        lib.wgpuComputePassEncoderSetPipeline(encoder, self._keep_alive[number][0]._internal)
        lib.wgpuComputePassEncoderSetBindGroup(encoder, 0, group, count, ffi.new("uint32_t *", uniforms))
        lib.wgpuComputePassEncoderDispatchWorkgroups(encoder, workgroups, 1, 1)
