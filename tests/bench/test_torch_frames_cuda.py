"""A network in PyTorch moves points that a viewer draws: whole frames, against the same frames without any waits.

The network is a model of type `torch`, whose output is written into one block while the other is drawn. `one block` is
the same with a single block, as for models that write in place. Images without waits may be wrong: they are the floor.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vertigrad as vg
from vertigrad.gpu import Traffic
from vertigrad.gpu.meter import difference
from vertigrad.models.neural.torch import Torch
from vertigrad.scene import trust

from .drawn_points import BACKGROUND, DISTANCE, FOV, RADIUS, SIZE, frames_a_second
from .results import Result, report

POINTS, FRAMES, LEAST = 10_000_000, 40, 0.95
NET = """
import torch

class Turn(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("sign", torch.tensor([-1.0, 1.0, -1.0]))

    def forward(self, x):
        return x * self.sign  # by half a turn
"""


def frames(count: int = FRAMES) -> tuple[float, np.ndarray, dict[str, int]]:
    """Frames a second, the last image, and the bytes of geometry that steps copied."""
    with vg.Viewer("points", size=SIZE, offscreen=True) as viewer:
        inputs = {"x": {"feedback": "x", "start": "uniform", "shape": [POINTS, 3]}}
        viewer.add_model("torch", "net", file="net.py", entry="Turn", outputs=["x"], inputs=inputs, cuda_graph=True)
        viewer.view(bloom=0.0, background=BACKGROUND)
        viewer.points("cloud", position="net.x", size=RADIUS, emissive=1.0)
        viewer.camera(position=(0.0, 0.0, DISTANCE), target=(0.0, 0.0, 0.0), fov=FOV)
        for _ in range(4):
            viewer.update()
        before = vg.gpu().meter.read()
        rate = frames_a_second(viewer.update, viewer.image, count)
        copied = difference(vg.gpu().meter.read(), before)[Traffic.GEOMETRY.value]
        return rate, viewer.image(), copied


@pytest.mark.bench
def test_frames_of_a_network_are_as_quick_as_without_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed here")
    gpu = vg.gpu()
    if gpu.frameworks.reason or gpu.frameworks.device[0] != 2:
        pytest.skip(gpu.frameworks.reason or "memory is shared with the host here")
    (tmp_path / "net.py").write_text(NET)
    trust.allow([tmp_path / "net.py"])
    monkeypatch.chdir(tmp_path)  # where a script's files are

    def recorded_only(gpu: Any, blocks: Any, record: Any) -> None:
        if gpu.recorder.deferred is None:
            record()
        else:
            gpu.recorder.deferred.flush(record)

    rates: dict[str, list[float]] = {"ours": [], "one block": [], "no waits": []}
    images: dict[str, np.ndarray] = {}
    for _ in range(2):
        for name, found in rates.items():
            with monkeypatch.context() as patched:
                if name == "one block":
                    patched.setattr(Torch, "double_buffered", False)
                if name == "no waits":
                    patched.setattr(gpu.frameworks, "wait_for", lambda blocks: False)
                    patched.setattr(gpu.frameworks, "begin", recorded_only)
                rate, images[name], copied = frames()
                assert sum(copied.values()) == 0, copied
                found.append(rate)
    assert np.array_equal(images["ours"], images["one block"])
    best = {name: max(found) for name, found in rates.items()}
    work = f"{POINTS:,} points moved by a network in PyTorch"
    report(Result("frame with a torch model", work, "frames/s", best.pop("ours"), best, "no waits", LEAST))
