"""`Timer`: how long each named group of dispatches and each render pass took on the GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import wgpu

from . import native
from .meter import Direction, Meter, Traffic
from .readback import ReadbackRing

GROUPS = 64  # passes timed in one submission; further ones go untimed and are counted as such


class Timer:
    """Brackets passes with timestamps, resolves them in the same submission and reads them back without a stall.

    Off until `enabled` is set, and always off where the adapter has no timestamp queries (`available`).
    `latest` holds {group: milliseconds} of the newest submission whose times have arrived, summed over its passes.
    """

    def __init__(self, device: wgpu.GPUDevice, readback: ReadbackRing, meter: Meter):
        self.available = "timestamp-query" in device.features
        self.enabled = False
        self.latest: dict[str, float] = {}
        self.untimed = 0
        self._readback = readback
        self._meter = meter
        self._names: list[str] = []
        if not self.available:
            return
        self._period = native.timestamp_period(device.queue)
        self._queries = device.create_query_set(type="timestamp", count=2 * GROUPS)
        usage = wgpu.BufferUsage.QUERY_RESOLVE | wgpu.BufferUsage.COPY_SRC
        self._resolved = device.create_buffer(label="timestamps", size=2 * GROUPS * 8, usage=usage)

    def writes(self, group: str) -> dict[str, Any] | None:
        """The `timestamp_writes` of a pass that belongs to `group`; None if it is not timed."""
        if not (self.enabled and self.available):
            return None
        slot = len(self._names)
        if slot == GROUPS:
            self.untimed += 1
            return None
        self._names.append(group)
        return {
            "query_set": self._queries,
            "beginning_of_pass_write_index": 2 * slot,
            "end_of_pass_write_index": 2 * slot + 1,
        }

    def resolve(self, encoder: wgpu.GPUCommandEncoder) -> None:
        """Record the reading of this submission's timestamps."""
        if not self._names:
            return
        names, self._names = self._names, []
        count = 2 * len(names)
        encoder.resolve_query_set(self._queries, 0, count, self._resolved, 0)
        self._readback.copy_buffer(encoder, self._resolved, 0, count * 8, lambda data: self._store(names, data))
        self._meter.count(Direction.DEVICE_TO_HOST, count * 8, Traffic.DIAGNOSTICS)

    def abandon(self) -> None:
        """The passes of this submission will not run: forget them."""
        self._names.clear()

    def _store(self, names: list[str], data: memoryview) -> None:
        ticks = np.frombuffer(data, np.uint64).reshape(-1, 2)
        times: dict[str, float] = {}
        for name, (begin, end) in zip(names, ticks.tolist(), strict=True):
            times[name] = times.get(name, 0.0) + max(0, end - begin) * self._period * 1e-6
        self.latest = times
