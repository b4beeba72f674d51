"""`RunRecord`: what a run moved, took and drew, as the JSON that `--report` writes."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..gpu import Gpu, Traffic
from ..gpu.meter import difference
from .session import Session

KEPT = 100_000  # frames whose times are kept, the latest: a window may stay open for days


class RunRecord:
    """Counts from the moment it is made; call `frame` after each frame and `finish` before the session is closed."""

    def __init__(self, gpu: Gpu):
        self._gpu = gpu
        self._before = gpu.meter.read()
        self._submits = gpu.meter.submits
        self.frames = 0
        self.cpu_ms: deque[float] = deque(maxlen=KEPT)
        self.wall_ms: deque[float] = deque(maxlen=KEPT)
        self.compute_ms: deque[float] = deque(maxlen=KEPT)
        self.draw_ms: deque[float] = deque(maxlen=KEPT)
        self._group_ms: dict[str, deque[float]] = {}

    def frame(self, cpu_ms: float, wall_ms: float) -> None:
        """Note one frame: milliseconds the CPU worked on it, and from its begin to the next one's."""
        self.frames += 1
        self.cpu_ms.append(cpu_ms)
        self.wall_ms.append(wall_ms)
        groups = self._gpu.timer.latest
        if groups:
            self.compute_ms.append(sum(ms for group, ms in groups.items() if _computes(group)))
            self.draw_ms.append(sum(ms for group, ms in groups.items() if not _computes(group)))
        for group, ms in groups.items():
            self._group_ms.setdefault(group, deque(maxlen=KEPT)).append(ms)

    @property
    def geometry_bytes(self) -> int:
        """Bytes of tensors that were copied in any direction since the record was made."""
        return sum(difference(self._gpu.meter.read(), self._before)[Traffic.GEOMETRY.value].values())

    def finish(self, session: Session) -> dict[str, Any]:
        """The report; `leaked_blocks` is filled in by `close`."""
        frames = max(1, self.frames)
        moved = difference(self._gpu.meter.read(), self._before)
        per_frame = {kind: {way: total / frames for way, total in ways.items()} for kind, ways in moved.items()}
        tracker, pool = self._gpu.tracker, self._gpu.pool
        return {
            "scene": str(session.scene.path),
            "title": session.scene.title,
            "adapter": self._gpu.report(),
            "frames": self.frames,
            "submits_per_frame": (self._gpu.meter.submits - self._submits) / frames,
            "bytes_per_frame": {**per_frame.pop(Traffic.GEOMETRY.value), **per_frame},
            "ms_per_frame": self._times(),
            "memory": {
                "peak_bytes": pool.peak_bytes,
                "live_bytes": tracker.live_bytes,
                "live_blocks": len(tracker.live),
                "leaked_blocks": 0,
                "never_closed": tracker.leak_count,
            },
            "models": {
                name: {
                    output: {"block": t.block.id, "dtype": t.dtype.name, "shape": t.shape, "offset": t.offset, "strides": t.strides}
                    for output, t in actor.outputs.items()
                }
                for name, actor in session.stage.actors.items()
            },
            "layers": {name: layer.report() for name, layer in session.stage.layers.items()},
        }

    def close(self, session: Session, report: dict[str, Any], already_live: Sequence[int] = ()) -> str:
        """Close the session and count what stays behind, apart from the blocks that were `already_live`.

        Returns the leak report, empty if nothing leaked.
        """
        session.close()
        left = [block for block in self._gpu.tracker.live if block.id not in already_live]
        report["memory"]["leaked_blocks"] = len(left)
        return self._gpu.tracker.leak_report() if left else ""

    def _times(self) -> dict[str, Any]:
        return {
            "cpu": statistics(self.cpu_ms),
            "frame": statistics(self.wall_ms),
            "compute": statistics(self.compute_ms),
            "draw": statistics(self.draw_ms),
            "groups": {group: statistics(ms) for group, ms in self._group_ms.items()},
        }


def statistics(values: Collection[float]) -> dict[str, float] | None:
    """Mean, median, 95th and 99th percentile; None if nothing was measured."""
    if not values:
        return None
    sample = np.fromiter(values, float)
    p50, p95, p99 = np.percentile(sample, [50, 95, 99])
    return {"mean": float(np.mean(sample)), "p50": float(p50), "p95": float(p95), "p99": float(p99)}


def write(report: dict[str, Any], path: Path) -> None:
    """Write the report as JSON. Raises `InputError` if the file cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: the report cannot be written ({error.strerror})") from error


def _computes(group: str) -> bool:
    """Whether a group of the timer is a model's plan, such as "galaxy.step", or dispatches outside of any."""
    return "." in group or group == "compute"
