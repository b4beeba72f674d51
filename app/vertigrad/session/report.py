"""`RunRecord`: traffic, times and memory of a run, as the JSON that `--report` writes."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

from ..atomic_file import write_file
from ..gpu import Gpu, Traffic
from ..gpu.meter import difference
from ..renderer.bounds import Bounds
from ..tensor import Tensor
from .quality import level_in_force
from .readbacks import check_limits, wait_for_readbacks
from .session import Session
from .statistics import GpuTimes, Series, statistics

CAPACITY = 100_000  # frames whose times are stored, the latest: a window may stay open for days


class RunRecord:
    """Counts from its construction on; call `frame` after each frame, and `finish` instead of closing the session."""

    def __init__(self, gpu: Gpu):
        self._gpu = gpu
        self._before = gpu.meter.read()
        self._submits = self._submits_until = gpu.meter.submits  # at the start, and at the end of the last frame
        self._never_closed = gpu.tracker.leak_count
        self.frames = 0
        self.cpu_ms, self.wall_ms = Series(CAPACITY), Series(CAPACITY)
        self.gpu_times = GpuTimes(CAPACITY, gpu.timer.latest)

    def frame(self, cpu_ms: float, wall_ms: float) -> None:
        """Note one frame: milliseconds of work on the CPU, and from its start to its end or to the next frame."""
        self.frames += 1
        self._submits_until = self._gpu.meter.submits
        self.cpu_ms.append(cpu_ms)
        self.wall_ms.append(wall_ms)
        self.take_times()

    def take_times(self) -> None:
        """Note the newest times on the GPU, once; they are of some earlier frame."""
        self.gpu_times.take(self._gpu.timer.latest)

    def finish(self, session: Session) -> dict[str, Any]:
        """The report; closes the session, to find leaked blocks."""
        report = self._report(session) | {"rows": _rows(session), "limits": _exceeded(session)}
        report["diagnostics"] = dict(session.diagnostics)
        report["parameters"] = {owner: params.model_dump(mode="json") for owner, params in session.parameters().items()}
        session.close()
        gc.collect()  # finalizers find what was dropped without being closed
        left = session.allocations.left_behind()
        report["memory"] |= {
            "leaked_blocks": len(left),
            "never_closed": self._gpu.tracker.leak_count - self._never_closed,
            "leaks": [
                f"{block.name or 'unnamed'}, {block.nbytes:,} bytes, created at {block.origin}" for block in left
            ],
        }
        return report

    def _report(self, session: Session) -> dict[str, Any]:
        frames = max(1, self.frames)
        per_frame = {
            kind: {direction: total / frames for direction, total in totals.items()}
            for kind, totals in self._moved(session).items()
        }
        tracker, pool = self._gpu.tracker, self._gpu.pool
        return {
            "scene": str(session.scene.path),
            "title": session.scene.title,
            "adapter": self._gpu.report(),
            "frames": self.frames,
            "steps": session.frame,
            "quality": level_in_force(session.view.quality, session.quality).name,
            "submits_per_frame": (self._submits_until - self._submits) / frames,
            "bytes_per_frame": {**per_frame.pop(Traffic.GEOMETRY.value), **per_frame},
            "bytes_loaded": dict(session.allocations.loaded),
            "ms_per_frame": self._times(),
            "memory": {
                "peak_bytes": pool.peak_bytes,
                "live_bytes": tracker.live_bytes,
                "live_blocks": len(tracker.live),
            },
            "models": {
                name: {output: _layout(tensor) for output, tensor in instance.outputs.items()}
                for name, instance in session.stage.instances.items()
            },
            "readbacks": {
                name: list(instance.model.readbacks)
                for name, instance in session.stage.instances.items()
                if instance.model.readbacks
            },
            "layers": {name: layer.report() for name, layer in session.stage.layers.items()},
        }

    def _moved(self, session: Session) -> dict[str, dict[str, int]]:
        """Bytes by kind and direction, without those that commands moved to rebuild models."""
        moved = difference(self._gpu.meter.read(), self._before)
        geometry, counted = moved[Traffic.GEOMETRY.value], session.allocations
        for direction in geometry:
            geometry[direction] -= counted.loaded[direction] - counted.loaded_at_start[direction]
        return moved

    def _times(self) -> dict[str, Any]:
        return {
            "cpu": statistics(self.cpu_ms),
            "frame": statistics(self.wall_ms),
            "compute": statistics(self.gpu_times.compute_ms),
            "draw": statistics(self.gpu_times.draw_ms),
            "groups": {group: statistics(ms) for group, ms in self.gpu_times.groups.items()},
        }


def _rows(session: Session) -> dict[str, dict[str, int]]:
    """The rows of each layer, and how many of them are not drawn because their position is not finite."""
    layers = session.stage.layers
    finite = Bounds(layers.values()).finite()
    rows = {name: layer.attributes.tensors["position"].layout.rows for name, layer in layers.items()}
    return {name: {"given": n, "dropped": n - drawn} for (name, n), drawn in zip(rows.items(), finite, strict=True)}


def _exceeded(session: Session) -> list[str]:
    """The largest excess of each diagnostic above its limit in the run, after a last measurement."""
    session.measure()
    wait_for_readbacks(session.gpu)
    session.diagnostics.collect()
    check_limits(session)
    return [str(excess) for excess in session.limits.worst.values()]


def write(report: dict[str, Any], path: Path) -> None:
    """Write the report as JSON. Raises `InputError` if the file cannot be written."""
    write_file(path, (json.dumps(report, indent=2) + "\n").encode(), make_folder=True)


def _layout(tensor: Tensor) -> dict[str, Any]:
    return {
        "block": tensor.block.id,
        "dtype": tensor.dtype.name,
        "shape": list(tensor.shape),
        "offset": tensor.offset,
        "strides": list(tensor.strides),
    }
