"""`Timeline`: what the CPU and the GPU did in the last frames, and how long each part of them took."""

from __future__ import annotations

import time
from collections import deque
from typing import NamedTuple

from ..gpu import Gpu, Traffic
from .statistics import GpuTimes, Series

CAPACITY = 2000  # frames whose times are stored, for plots and percentiles
LATE = 1.5  # refreshes of the screen that a frame may take before frames count as dropped


class Frame(NamedTuple):
    """One frame: its number, the phases that the CPU went through, and what there was at its end.

    `phases` are (name, begin) one after another, up to `end`, in s of `time.perf_counter`; `cpu_ms` is the time in
    which the CPU worked rather than waited. `copied` are bytes of geometry that were moved in it, `used` and `spare`
    bytes of GPU memory that are in use, or free for reuse.
    """

    number: int
    phases: tuple[tuple[str, float], ...]
    end: float
    cpu_ms: float
    copied: int
    used: int
    spare: int

    @property
    def begin(self) -> float:
        """When its first phase began."""
        return self.phases[0][1]


class Timeline:
    """Call `begin` when a frame begins, `enter` at each further phase of it, and `end` when it has been shown.

    `requested_ms` is the frame time of the user's FPS limit, `refresh_ms` that of the screen's refresh rate; 0 if
    unknown.
    """

    def __init__(self, gpu: Gpu):
        self._gpu = gpu
        self.frames: deque[Frame] = deque(maxlen=CAPACITY)
        self.frame_ms, self.cpu_ms = Series(CAPACITY), Series(CAPACITY)  # begin to begin; the CPU's work
        self.wait_ms, self.present_ms = Series(CAPACITY), Series(CAPACITY)  # for GPU and screen; to present the frame
        self.gpu_times = GpuTimes(CAPACITY, gpu.timer.latest)
        self.used_bytes, self.held_bytes = Series(CAPACITY), Series(CAPACITY)  # held: also those free for reuse
        self.requested_ms = self.refresh_ms = 0.0
        self.dropped = self.shown = 0  # frames presented too late, and all frames
        self._phases: list[tuple[str, float]] = []
        self._begun = self._worked = 0.0
        self._was_idle = True
        self.resting = False  # whether the loop slept before this frame because nothing changes
        self._moved = gpu.meter.total(Traffic.GEOMETRY)

    @property
    def target_ms(self) -> float:
        """How long a frame may take; 0 if unknown."""
        return max(self.requested_ms, self.refresh_ms)

    def mark_idle(self) -> None:
        """The loop sleeps because nothing changes: the time until the next frame does not count."""
        self._was_idle = self.resting = True

    def begin(self) -> None:
        """A frame begins, with waiting for the GPU and for something to draw on."""
        now = time.perf_counter()
        if not self._was_idle:
            passed = (now - self._begun) * 1e3
            self.frame_ms.append(passed)
            self.shown += 1
            target = self.target_ms
            if target and passed > LATE * target:
                self.dropped += round(passed / target) - 1
        self.resting = self.resting and self._was_idle
        self._was_idle, self._begun, self._worked = False, now, time.thread_time()
        self._phases = [("wait", now)]

    def enter(self, phase: str) -> None:
        """The phase before ends, another begins."""
        self._phases.append((phase, time.perf_counter()))

    def end(self) -> None:
        """The frame has been shown. A frame without `end` is not counted."""
        end, gpu = time.perf_counter(), self._gpu
        moved, pool = gpu.meter.total(Traffic.GEOMETRY), gpu.pool
        cpu_ms = (time.thread_time() - self._worked) * 1e3
        memory = pool.held_bytes - pool.free_bytes, pool.free_bytes
        self.frames.append(Frame(gpu.tracker.frame, tuple(self._phases), end, cpu_ms, moved - self._moved, *memory))
        self._moved = moved
        self.cpu_ms.append(cpu_ms)
        self.used_bytes.append(memory[0])
        self.held_bytes.append(pool.held_bytes)
        waited = presented = 0.0
        for (phase, begin), (_, until) in zip(self._phases, [*self._phases[1:], ("", end)], strict=True):
            waited += until - begin if phase == "wait" else 0.0
            presented += until - begin if phase == "present" else 0.0
        self.wait_ms.append(waited * 1e3)
        self.present_ms.append(presented * 1e3)
        self.gpu_times.take(gpu.timer.latest)

    def series(self) -> dict[str, Series]:
        """Milliseconds of each kind of work, by name."""
        return {
            "frame": self.frame_ms,
            "CPU": self.cpu_ms,
            "compute": self.gpu_times.compute_ms,
            "draw": self.gpu_times.draw_ms,
            "present": self.present_ms,
            "wait": self.wait_ms,
        }
