"""What tensors inside a network cost a frame that shows them: dispatches, passes, copies and readbacks, counted.

On a GPU each dispatch takes 5 to 10 µs, however few its elements are.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vertigrad.gpu import Gpu
from vertigrad.headless.offscreen import FORMAT, Offscreen
from vertigrad.onnx_import import probe
from vertigrad.renderer.renderer import Renderer
from vertigrad.session import Session
from vertigrad.session.commands import ShowGraph, ShowTensor
from vertigrad.session.tensor_statistics import EVERY

from ..renderer.layers.calls import Calls

SIZE = (64, 48)
SCENE = """version = 1
[models.picture]
type = "array"
file = "x.npy"
[models.net]
type = "onnx"
file = "assets/weights/depth.onnx"
inputs = { picture = "picture.values" }
[layers]
height = { tensor = "net.height" }
"""
SHOWN = ("half", "eighth2", "full", "full_sum", "half_down", "half_sum", "quarter", "half_joined")
COUNTED = {
    "dispatches": ("wgpuComputePassEncoderDispatchWorkgroups",),
    "passes": ("wgpuCommandEncoderBeginComputePass",),
    "copies": ("wgpuCommandEncoderCopyBufferToBuffer", "wgpuCommandEncoderClearBuffer"),
    "readbacks": ("wgpuBufferMapAsync",),
}


@pytest.fixture
def more(steady: Gpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, int]]:
    """What a session in which commands were executed does more than one without: in all frames of a readback.

    In each of them it has another image, unless that is `unchanged`.
    """
    pixels = np.random.default_rng(0).random((1, 3, 32, 48), np.float32)
    np.save(tmp_path / "x.npy", pixels)
    (tmp_path / "scene.toml").write_text(SCENE)
    monkeypatch.setattr(probe, "most_tensors", lambda: 24)  # as on a GPU
    calls = Calls(monkeypatch)

    def counted(*commands: Any, unchanged: bool = False) -> dict[str, int]:
        with Session(steady, tmp_path / "scene.toml") as session:
            for command in commands:
                session.carry_out(command)
            offscreen, renderer = Offscreen(steady, SIZE), Renderer(steady, FORMAT)
            for number in range(2 * EVERY):
                if number == EVERY:
                    calls.clear()
                with steady.frames.frame():
                    session.apply()
                    if not unchanged:
                        with session.stage.rewriting():
                            session.stage.instances["picture"].outputs["values"][...] = pixels + number
                    session.advance()
                    session.request_readbacks()
                    session.draw(renderer, offscreen.view, SIZE)
                steady.sync()
            return {name: sum(calls.counts[one] for one in functions) for name, functions in COUNTED.items()}

    def difference(*commands: Any, **options: bool) -> dict[str, int]:
        found, plain = counted(*commands, **options), counted(**options)
        return {name: found[name] - plain[name] for name in found}

    return difference


@pytest.mark.parametrize(("count", "other"), [(2, 2), (8, 4)])
def test_a_tensor_that_is_shown_takes_one_dispatch(more, count: int, other: int) -> None:
    """Others: the copy of the output, the peaks of the chosen one, and nodes that are not fused any more."""
    found = more(*(ShowTensor("net", name) for name in SHOWN[:count]))
    of_statistics = 2
    assert found["dispatches"] == EVERY * (count + other) + of_statistics
    assert found["passes"] <= 2  # in the frame of the readback
    assert found["copies"] <= 4 and found["readbacks"] <= 3


def test_the_colors_of_a_graph_take_few_dispatches(more) -> None:
    """Two for the statistics of all nodes and one for their logarithms; four draw them, one copies the output."""
    found = more(ShowGraph("net"))
    assert found == {"dispatches": EVERY * 8, "passes": 0, "copies": 0, "readbacks": 0}


def test_nothing_is_computed_of_an_image_that_has_not_changed(more) -> None:
    """But for the statistics and the peaks of the chosen tensor, which count steps."""
    found = more(*(ShowTensor("net", name) for name in SHOWN[:2]), unchanged=True)
    assert found["dispatches"] == EVERY + 2
    assert more(ShowGraph("net"), unchanged=True)["dispatches"] == 0
