"""The time of a frame of a network with tensors inside shown, against the same frame without them.

Shown are two or eight tensors as images of their channels and the statistics of one of them, or the graph with the
colors of what all tensors hold; both frames draw the network's output. The bound is that of what is shown: recording,
reading and drawing the tensors.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import vertigrad
from vertigrad.headless.offscreen import FORMAT, Offscreen
from vertigrad.renderer.renderer import Renderer
from vertigrad.session import Session
from vertigrad.session.command import Command
from vertigrad.session.commands import ShowGraph, ShowTensor

from .results import Result, report
from .timing import lowest

SIZE = (320, 180)
MOST = 1.2  # times the frame without
ROUNDS, WARM_UP = 7, 2
SCENE = """version = 1
[camera]
fit = true
[view]
bloom = 0
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
TENSORS = ("half", "eighth2", "full", "full_sum", "half_down", "half_sum", "quarter", "half_joined")
SHOWN: dict[str, Sequence[Command]] = {
    "two tensors and statistics": [ShowTensor("net", name) for name in TENSORS[:2]],
    "eight tensors and statistics": [ShowTensor("net", name) for name in TENSORS],
    "the graph with its colors": [ShowGraph("net")],
}


@pytest.mark.turns(3)
@pytest.mark.bench
@pytest.mark.parametrize("what", SHOWN)
def test_tensors_inside_a_network_cost_a_fifth_of_its_frame_at_most(tmp_path: Path, what: str) -> None:
    gpu = vertigrad.gpu()
    pixels = np.random.default_rng(0).random((1, 3, 64, 96), np.float32)
    np.save(tmp_path / "x.npy", pixels)
    (tmp_path / "scene.toml").write_text(SCENE)
    with Session(gpu, tmp_path / "scene.toml") as plain, Session(gpu, tmp_path / "scene.toml") as shown:
        for command in SHOWN[what]:
            shown.carry_out(command)
        offscreen, renderer = Offscreen(gpu, SIZE), Renderer(gpu, FORMAT)

        def frame(session: Session) -> float:
            start = time.perf_counter()
            with gpu.frames.frame():
                session.apply()
                with session.stage.rewriting():  # all is computed again
                    session.stage.instances["picture"].outputs["values"][...] = pixels
                session.advance()
                session.request_readbacks()
                session.draw(renderer, offscreen.view, SIZE)
            gpu.sync()
            return time.perf_counter() - start

        found: dict[str, float] = {}

        def ratio() -> float:
            times = [(frame(plain), frame(shown)) for _ in range(WARM_UP + ROUNDS)][WARM_UP:]
            found["plain"], found["shown"] = np.median(times, axis=0) * 1e3
            return found["shown"] / found["plain"]

        lowest(ratio, MOST)
    report(
        Result(
            "tensors inside a network",
            f"depth.onnx, 64x96, {what} shown",
            "ms",
            found["shown"],
            {"without": found["plain"]},
            "without",
            1.0 / MOST,
        )
    )
