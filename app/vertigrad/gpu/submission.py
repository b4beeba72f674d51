"""`Recorder`: the one command encoder of the next submission, and what that submission needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import wgpu

from ..memory import Block, LifetimeTracker
from .meter import Direction, Meter, Traffic
from .readback import Reading, ReadbackRing
from .timer import Timer


class Recorder:
    """Collects commands until `Gpu.submit`. Consecutive dispatches share one compute pass.

    Every block that a command uses is handed to `use`: it stays pinned until it is submitted, and is checked
    before the submit, because a command buffer with a destroyed buffer in it ends the process (wgpu-native #588).
    """

    def __init__(
        self, device: wgpu.GPUDevice, tracker: LifetimeTracker, meter: Meter, timer: Timer, readback: ReadbackRing
    ):
        self._device = device
        self._tracker = tracker
        self._meter = meter
        self._timer = timer
        self._readback = readback
        self._encoder: wgpu.GPUCommandEncoder | None = None
        self._pass: wgpu.GPUComputePassEncoder | None = None
        self._used: dict[Block, None] = {}
        self._group = "compute"
        self.dispatches = 0

    @property
    def pending(self) -> bool:
        """Whether anything was recorded since the last submit."""
        return self._encoder is not None

    def use(self, blocks: Iterable[Block]) -> None:
        """Keep `blocks` alive until this submission is made, and stamp them with it."""
        used, tracker = self._used, self._tracker
        for block in blocks:
            if block not in used:
                tracker.pin(block)
                used[block] = None

    @property
    def encoder(self) -> wgpu.GPUCommandEncoder:
        """The open encoder, outside of any pass."""
        self._end_pass()
        if self._encoder is None:
            self._encoder = self._device.create_command_encoder()
        return self._encoder

    def compute_pass(self) -> wgpu.GPUComputePassEncoder:
        """The open compute pass; begun if there is none."""
        if self._pass is None:
            self._pass = self.encoder.begin_compute_pass(timestamp_writes=self._timer.writes(self._group))
        return self._pass

    @contextmanager
    def group(self, name: str) -> Iterator[None]:
        """Time the dispatches recorded inside under `name`."""
        outer, self._group = self._group, name
        if self._timer.enabled:
            self._end_pass()
        try:
            yield
        finally:
            if self._timer.enabled:
                self._end_pass()
            self._group = outer

    @contextmanager
    def render_pass(self, group: str = "draw", **descriptor: Any) -> Iterator[wgpu.GPURenderPassEncoder]:
        """A render pass with wgpu's own descriptor (`color_attachments`, ...), timed under `group`."""
        render = self.encoder.begin_render_pass(timestamp_writes=self._timer.writes(group), **descriptor)
        try:
            yield render
        finally:
            render.end()

    def copy(self, source: Block, source_offset: int, target: Block, target_offset: int, nbytes: int) -> None:
        """Copy bytes between blocks; offsets and size are multiples of 4. Counted as device to device."""
        self.use((source, target))
        self.encoder.copy_buffer_to_buffer(source.buffer, source_offset, target.buffer, target_offset, nbytes)
        self._meter.count(Direction.DEVICE_TO_DEVICE, nbytes)

    def read(self, source: Block, offset: int, nbytes: int, traffic: Traffic, then: Any = None) -> Reading:
        """Record a copy to the host; the bytes arrive through `ReadbackRing`. Multiples of 4."""
        self.use((source,))
        self._meter.count(Direction.DEVICE_TO_HOST, nbytes, traffic)
        return self._readback.copy_buffer(self.encoder, source.buffer, offset, nbytes, then)

    def finish(self) -> tuple[wgpu.GPUCommandBuffer, list[Block]]:
        """End the encoder; returns its commands and the blocks they use, checked. Raises what the device found."""
        encoder = self.encoder
        self._timer.resolve(encoder)
        self._tracker.preflight(self._used)
        commands = encoder.finish()
        used = list(self._used)
        self._clear()
        return commands, used

    def abandon(self) -> None:
        """Drop what was recorded, after an error in it."""
        used = list(self._used)
        self._clear()
        self._readback.abandon()
        for block in used:
            self._tracker.unpin(block)

    def _clear(self) -> None:
        self._encoder = self._pass = None
        self._used = {}
        self.dispatches = 0

    def _end_pass(self) -> None:
        if self._pass is not None:
            self._pass.end()
            self._pass = None
