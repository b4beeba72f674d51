"""`DispatchList`: the dispatches of a plan, encoded raw."""

# pyright: reportAttributeAccessIssue=false
from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import wgpu

from .foreign import ffi, lib

Size: TypeAlias = tuple[int, int, int] | tuple[wgpu.GPUBuffer, int]


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
        self._base: int | None = None  # for which `_current` is computed
        self._calls = []
        self._runs = []  # of dispatches with one pipeline whose sizes are given in one way: nothing to ask at each
        last = None
        for i, ((pipeline, group, size), offset) in enumerate(zip(calls, offsets, strict=True)):
            count = 0 if offset is None else 1
            where = (size[0]._internal, size[1], None) if len(size) == 2 else size
            self._calls.append((group._internal, count, self._pointer + i, *where))
            kind = pipeline, len(size)
            if kind != last:
                self._runs.append((pipeline._internal, len(size) == 2, []))
            self._runs[-1][2].append(self._calls[-1])
            last = kind

    def encode(self, compute_pass: wgpu.GPUComputePassEncoder, base: int) -> None:
        """Encode all dispatches, their uniforms lying at `base` plus their own offsets in the ring."""
        if base != self._base:  # often a plan's uniforms have the offset of the frame before
            np.add(self._relative, base, out=self._current, casting="unsafe")
            self._base = base
        encoder = compute_pass._internal
        set_pipeline = lib.wgpuComputePassEncoderSetPipeline
        set_bind_group = lib.wgpuComputePassEncoderSetBindGroup
        dispatch = lib.wgpuComputePassEncoderDispatchWorkgroups
        indirect = lib.wgpuComputePassEncoderDispatchWorkgroupsIndirect
        for pipeline, is_indirect, calls in self._runs:
            set_pipeline(encoder, pipeline)
            if is_indirect:
                for group, count, offset, buffer, byte, _ in calls:
                    set_bind_group(encoder, 0, group, count, offset)
                    indirect(encoder, buffer, byte)
            else:
                for group, count, offset, x, y, z in calls:
                    set_bind_group(encoder, 0, group, count, offset)
                    dispatch(encoder, x, y, z)

    def encode_one(self, compute_pass: wgpu.GPUComputePassEncoder, number: int, base: int) -> None:
        """Encode dispatch `number` alone, in a pass that need not know its pipeline yet."""
        self._current[number], self._base = self._relative[number] + base, None
        encoder, (group, count, offset, x, y, z) = compute_pass._internal, self._calls[number]
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
        encoder, (group, count, *_) = compute_pass._internal, self._calls[number]
        lib.wgpuComputePassEncoderSetPipeline(encoder, self._keep_alive[number][0]._internal)
        lib.wgpuComputePassEncoderSetBindGroup(encoder, 0, group, count, ffi.new("uint32_t *", uniforms))
        lib.wgpuComputePassEncoderDispatchWorkgroups(encoder, workgroups, 1, 1)
