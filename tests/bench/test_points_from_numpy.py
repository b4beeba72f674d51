"""A loop in NumPy moves points that a viewer draws: a script of Vertigrad, pygfx and Polyscope, without windows.

Each frame hands over all positions from the host (12 MB for a million points), draws them, and brings the image back as
an array. The positions are computed before. A million points where the GPU is one; a software adapter draws fewer.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle

import numpy as np
import pytest

import vertigrad as vg
from vertigrad.gpu import Traffic
from vertigrad.gpu.meter import difference

from .drawn_points import (
    BACKGROUND,
    DISTANCE,
    FOV,
    RADIUS,
    SIZE,
    Polyscope,
    Pygfx,
    assert_same_points,
    frames_a_second,
    start,
)
from .results import Result, report

LEAST = 1.0  # times the speed of pygfx


class Ours:
    """A script's viewer without a window."""

    def __init__(self, positions: np.ndarray, radius: float):
        self.viewer = vg.Viewer("points", size=SIZE, offscreen=True)
        self.viewer.view(bloom=0.0, background=BACKGROUND)
        self.cloud = self.viewer.points("cloud", position=positions, size=radius, emissive=1.0)
        self.viewer.camera(position=(0.0, 0.0, DISTANCE), target=(0.0, 0.0, 0.0), fov=FOV)

    def upload(self, positions: np.ndarray) -> None:
        self.cloud.position = positions

    def image(self) -> np.ndarray:
        return self.viewer.image()


def moved(positions: np.ndarray) -> list[np.ndarray]:
    """What the loop computes in turns."""
    return [positions, positions * np.float32(0.98)]


def loop(program: Ours | Pygfx | Polyscope, turns: list[np.ndarray]) -> Callable[[], None]:
    """A frame: hand over the next positions, and take the image."""
    following = cycle(turns)

    def frame() -> None:
        program.upload(next(following))
        program.image()

    return frame


@pytest.mark.bench
def test_points_of_a_numpy_loop_are_drawn_faster_than_by_pygfx_and_polyscope() -> None:
    gpu = vg.gpu()
    slow = gpu.adapter.kind == "software"
    count, frames, radius = (20_000, 3, 0.02) if slow else (1_000_000, 60, RADIUS)
    turns = moved(start(count))
    ours = Ours(turns[0], radius)
    with ours.viewer:
        mine = frames_a_second(loop(ours, turns), ours.image, frames)
        ours.upload(turns[0])
        drawn = ours.image()
        ours.cloud.position *= 1.0
        before = gpu.meter.read()
        for _ in range(3):
            ours.cloud.position *= 1.0
            ours.image()
        written = difference(gpu.meter.read(), before)[Traffic.GEOMETRY.value]
        assert sum(written.values()) == 0, "a loop that writes tensors moves no geometry"
    pygfx = Pygfx(turns[0], radius)
    peers = {"pygfx": frames_a_second(loop(pygfx, turns), pygfx.image, frames)}
    pygfx.upload(turns[0])
    assert_same_points(drawn, pygfx.image())
    polyscope = Polyscope(turns[0], radius)
    peers["Polyscope"] = frames_a_second(loop(polyscope, turns), polyscope.image, frames)
    polyscope.upload(turns[0])
    assert_same_points(drawn, polyscope.image())
    work = f"{count:,} points from a loop in NumPy"
    report(
        Result(
            "script", work, "frames/s", mine, peers, max(peers, key=lambda name: peers[name]), None if slow else LEAST
        )
    )
