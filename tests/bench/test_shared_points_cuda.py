"""PyTorch moves points that a script's viewer draws: shared memory against copies through the host, in one run.

The same frames without any synchronization, whose images may be wrong, are the floor.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import vertigrad as vg
from vertigrad.gpu import Gpu, Traffic
from vertigrad.gpu.meter import difference

from .drawn_points import BACKGROUND, DISTANCE, FOV, RADIUS, SIZE, frames_a_second, start
from .results import Result, report

POINTS, FRAMES, HANDOVERS = 10_000_000, 40, 20
LEAST_PAGEABLE, LEAST_PINNED, LEAST_FLOOR = 5.0, 2.0, 0.85


class Moving:
    """Positions that PyTorch computes each frame, into `positions` or wherever the memory of the points is."""

    def __init__(self, torch: Any, gpu: Gpu, how: str):
        self._torch, self._gpu, self._how, self._step = torch, gpu, how, 0
        self._base = torch.from_numpy(start(POINTS)).cuda()
        self._moved = torch.empty_like(self._base)
        self.tensor = vg.Tensor.empty((POINTS, 3), shared="cuda" if how == "shared" else False)
        self.tensor.fill_(0)
        if how == "shared":
            self._moved = self.tensor.torch()
        elif how == "pinned":
            self._pinned = torch.empty(self._base.shape, pin_memory=True)

    def compute(self) -> None:
        self._step += 1
        self._torch.mul(self._base, 1.0 + 0.02 * (self._step % 8), out=self._moved)

    def hand_over(self) -> None:
        """Have the points' memory hold what was computed, before the next submission."""
        if self._how == "pageable":
            self._upload(self._moved.cpu().numpy())
        elif self._how == "pinned":
            self._pinned.copy_(self._moved, non_blocking=True)
            self._torch.cuda.synchronize()
            self._upload(self._pinned.numpy())

    def _upload(self, positions: np.ndarray) -> None:
        self._gpu.upload(self.tensor.block.buffer, memoryview(positions.reshape(-1).view(np.uint8)))

    def first(self) -> float:
        """What a kernel reads of the last step: the first coordinate; waits."""
        with self.tensor[:1, 0].clone() as copied:
            return copied.numpy()[0]

    def expected(self) -> float:
        return float(self._base[0, 0]) * (1.0 + 0.02 * (self._step % 8))


def handover_milliseconds(moving: Moving, torch: Any) -> float:
    """The part of a frame that sharing changes: from computed positions to a kernel that has read one of them."""
    samples = []
    for _ in range(HANDOVERS):
        moving.compute()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        moving.hand_over()
        found = moving.first()
        samples.append(time.perf_counter() - begin)
        assert found == pytest.approx(moving.expected(), rel=1e-5)
    return 1e3 * float(np.median(samples))


def frames(moving: Moving) -> tuple[float, np.ndarray]:
    """Frames a second of a viewer that draws the points, and its last image."""
    viewer = vg.Viewer("points", size=SIZE, offscreen=True)
    with viewer:
        viewer.view(bloom=0.0, background=BACKGROUND)
        viewer.points("cloud", position=moving.tensor, size=RADIUS, emissive=1.0)
        viewer.camera(position=(0.0, 0.0, DISTANCE), target=(0.0, 0.0, 0.0), fov=FOV)

        def frame() -> None:
            moving.compute()
            moving.hand_over()
            viewer.update()

        rate = frames_a_second(frame, viewer.image, FRAMES)
        while moving._step % 8:
            frame()
        return rate, viewer.image()


@pytest.mark.bench
def test_points_of_torch_are_drawn_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed here")
    gpu = vg.gpu()
    if gpu.frameworks.reason:
        pytest.skip(gpu.frameworks.reason)
    rates: dict[str, float] = {}
    handovers: dict[str, float] = {}
    images: dict[str, np.ndarray] = {}
    for how in ("pageable", "pinned", "shared"):
        moving = Moving(torch, gpu, how)
        handovers[how] = handover_milliseconds(moving, torch)
        before = gpu.meter.read()
        rates[how], images[how] = frames(moving)
        copied = difference(gpu.meter.read(), before)[Traffic.GEOMETRY.value]
        assert (sum(copied.values()) == 0) == (how == "shared"), copied
        if how == "shared":
            with monkeypatch.context() as patched:
                wait: Callable[[Any], bool] = lambda blocks: False  # noqa: E731
                patched.setattr(gpu.frameworks, "wait_for", wait)
                rates["no synchronization"], _ = frames(moving)
        moving.tensor.close()
        del moving
    assert np.array_equal(images["shared"], images["pageable"])
    assert np.array_equal(images["pinned"], images["pageable"])
    work = f"{POINTS:,} points moved by PyTorch"
    report(
        Result(
            "hand-over",
            work,
            "ms",
            handovers["shared"],
            {k: handovers[k] for k in ("pageable", "pinned")},
            "pageable",
            LEAST_PAGEABLE,
        )
    )
    report(
        Result(
            "hand-over, pinned",
            work,
            "ms",
            handovers["shared"],
            {"pinned": handovers["pinned"]},
            "pinned",
            LEAST_PINNED,
        )
    )
    shared = rates.pop("shared")
    report(Result("frame with shared memory", work, "frames/s", shared, rates, "no synchronization", LEAST_FLOOR))
