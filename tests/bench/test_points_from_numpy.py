"""A loop in NumPy moves points that a viewer draws: a script of Vertigrad, pygfx and Polyscope, without windows.

The work, and the table of all programs, are in points_table.py. A million points where the GPU is one; a software
adapter draws fewer.
"""

from __future__ import annotations

import numpy as np
import pytest

import vertigrad as vg

from .drawn_points import Polyscope, Pygfx, frames_a_second, start
from .points_table import RADIUS, Program, Vertigrad, loop, require_points_drawn
from .results import Result, report

LEAST = 1.0  # times the speed of pygfx
SAMPLES = 4  # of each pixel, as Vertigrad takes


@pytest.mark.bench
def test_points_of_a_numpy_loop_are_drawn_faster_than_by_pygfx_and_polyscope() -> None:
    gpu = vg.gpu()
    slow = gpu.adapter.kind == "software"
    count, frames, radius = (20_000, 3, 0.01) if slow else (1_000_000, 60, RADIUS)
    turns = [start(count), start(count) * np.float32(0.98)]

    def rate(program: Program) -> float:
        require_points_drawn(program, count, radius)
        return frames_a_second(loop(program, turns), program.image, frames)

    ours = Vertigrad(turns[0], radius)
    with ours.viewer:
        mine = rate(ours)
        assert ours.geometry_bytes(ours.tensor_frame()) == 0, "a loop that writes tensors moves no geometry"
        assert ours.geometry_bytes(loop(ours, turns)) == turns[0].nbytes
    pytest.importorskip("pygfx", reason="compares with pygfx, which is not installed here")
    peers = {"pygfx": rate(Pygfx(turns[0], radius, "disc", SAMPLES))}
    pytest.importorskip("polyscope", reason="compares with Polyscope, which is not installed here")
    peers["Polyscope"] = rate(Polyscope(turns[0], radius, "square", SAMPLES))
    best = max(peers, key=lambda name: peers[name])
    work = f"{count:,} points from a loop in NumPy"
    report(Result("script", work, "frames/s", mine, peers, best, None if slow else LEAST))
