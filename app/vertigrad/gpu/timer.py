"""`Timer`: how long each named group of dispatches and each render pass took on the GPU."""

from __future__ import annotations

import time
from collections import deque
from typing import Any, NamedTuple

import numpy as np
import wgpu

from . import native
from .meter import Direction, Meter, Traffic
from .readback import ReadbackRing

GROUPS = 64  # passes timed in one submission; further ones go untimed and are counted as such
KERNELS = 1024  # and while each kernel is timed
MOST_SUBMISSIONS = 2000  # submissions whose times are stored


class Span(NamedTuple):
    """A pass on the GPU: its group, the kernel if each is timed (else ""), begin and end in ns of the GPU's clock."""

    group: str
    kernel: str
    begin: float
    end: float

    @property
    def ms(self) -> float:
        """How long it took, in milliseconds; not less than nothing, whatever the clock did."""
        return max(0.0, self.end - self.begin) * 1e-6


class Timed(NamedTuple):
    """A submission that was timed: its frame, when the CPU had recorded it and had its times, and its passes.

    The CPU's times are those of `time.perf_counter`, in s. No pass begins before `recorded` or ends after `arrived`:
    that is how the two clocks can be brought together.
    """

    frame: int
    recorded: float
    arrived: float
    spans: tuple[Span, ...]


class Timer:
    """Brackets passes with timestamps, resolves them in the same submission and reads them back without a stall.

    Off until `enabled` is set, and always off where the adapter has no timestamp queries (`available`).
    `latest` holds {group: milliseconds} of the newest submission whose times have arrived, summed over its passes;
    `submissions` the newest ones with every pass. With `each_kernel` every dispatch of a plan is a pass of its own, so
    that it can be timed: passes take time themselves, so this is for looking closely.
    """

    def __init__(self, device: wgpu.GPUDevice, readback: ReadbackRing, meter: Meter):
        self.available = "timestamp-query" in device.features
        self.enabled = False
        self.each_kernel = False
        self.latest: dict[str, float] = {}
        self.submissions: deque[Timed] = deque(maxlen=MOST_SUBMISSIONS)
        self.untimed = 0
        self._device = device
        self._readback = readback
        self._meter = meter
        self._names: list[tuple[str, str]] = []
        self._room = 0
        if not self.available:
            return
        self._period = native.timestamp_period(device.queue)
        self._make_room(GROUPS)

    @property
    def times_kernels(self) -> bool:
        """Whether each dispatch is to be a pass of its own now."""
        return self.each_kernel and self.enabled and self.available

    def writes(self, group: str, kernel: str = "") -> dict[str, Any] | None:
        """The `timestamp_writes` of a pass that belongs to `group`; None if it is not timed."""
        if not (self.enabled and self.available):
            return None
        slot = len(self._names)
        if not slot and self.each_kernel and self._room < KERNELS:
            self._make_room(KERNELS)  # not while passes of this submission write to the old ones
        if slot >= min(self._room, KERNELS if self.each_kernel else GROUPS):
            self.untimed += 1
            return None
        self._names.append((group, kernel))
        return {
            "query_set": self._queries,
            "beginning_of_pass_write_index": 2 * slot,
            "end_of_pass_write_index": 2 * slot + 1,
        }

    def resolve(self, encoder: wgpu.GPUCommandEncoder, frame: int = 0) -> None:
        """Record the reading of the timestamps of this submission, which is part of `frame`."""
        if not self._names:
            return
        names, self._names = self._names, []
        count = 2 * len(names)
        encoder.resolve_query_set(self._queries, 0, count, self._resolved, 0)
        recorded = time.perf_counter()
        reading = self._readback.reading(count * 8, lambda data: self._store(names, data, frame, recorded))
        self._readback.record(encoder, reading, self._resolved, 0)
        self._meter.count(Direction.DEVICE_TO_HOST, count * 8, Traffic.DIAGNOSTICS)

    def abandon(self) -> None:
        """The passes of this submission will not run: forget them."""
        self._names.clear()

    def _make_room(self, passes: int) -> None:
        self._room = passes
        self._queries = self._device.create_query_set(type="timestamp", count=2 * passes)
        usage = wgpu.BufferUsage.QUERY_RESOLVE | wgpu.BufferUsage.COPY_SRC
        self._resolved = self._device.create_buffer(label="timestamps", size=2 * passes * 8, usage=usage)

    def _store(self, names: list[tuple[str, str]], data: memoryview, frame: int, recorded: float) -> None:
        ns = np.frombuffer(data, np.uint64).astype(np.float64).reshape(-1, 2) * self._period
        spans = tuple(Span(*name, *times) for name, times in zip(names, ns.tolist(), strict=True))
        self.submissions.append(Timed(frame, recorded, time.perf_counter(), spans))
        latest: dict[str, float] = {}
        for span in spans:
            latest[span.group] = latest.get(span.group, 0.0) + span.ms
        self.latest = latest
