"""A network moves a million points, which are drawn, in three comparisons with one difference each.

1. Copies: our network and renderer, and the same two with the positions taken to the host and back in every frame.
2. Networks: torch compiled, in a CUDA graph, its positions through pinned memory to our renderer.
3. Renderers: constant points, drawn by us and by pygfx, both into a texture that is not read.

Then the whole: torch at its best, pinned memory and pygfx. Floor on an H200, ours: 8,640 fused multiply-adds a point
are 0.27 ms, reading and writing 24 MB of positions 6 µs; it has few rasterizers. The others move 12 MB to the host and
12 MB back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import vertigrad
from vertigrad import Tensor
from vertigrad.gpu import Plan, Traffic
from vertigrad.gpu.meter import difference
from vertigrad.headless.offscreen import FORMAT, Offscreen
from vertigrad.ops import Mlp, assign
from vertigrad.renderer import OrbitCamera, View
from vertigrad.renderer.layers.points import PointsLayer, PointsStyle
from vertigrad.renderer.renderer import Renderer

from .cuda import graphed, precision, torch_on_the_same_gpu
from .drawn_points import (
    BACKGROUND,
    DISTANCE,
    FOV,
    RADIUS,
    SIZE,
    Pygfx,
    assert_same_points,
    frames_a_second,
    start,
)
from .images import image
from .networks import Layers, random_layers, torch_module
from .results import Result, report

POINTS = 1_000_000
SIZES = (3, 64, 64, 64, 3)
SPEED = 1e-3


class Ours:
    """Our renderer with the points in a tensor; `step` moves them in place by the network."""

    def __init__(self, layers: Layers, points: np.ndarray):
        self.gpu = vertigrad.gpu()
        self._offscreen, self._renderer = Offscreen(self.gpu, SIZE), Renderer(self.gpu, FORMAT)
        self._camera, self._view = OrbitCamera(distance=DISTANCE, fov=FOV), View(bloom=0.0, background=BACKGROUND)
        self._layer = PointsLayer(self.gpu, "points", PointsStyle(emissive=1.0))
        self.points, self._network = Tensor.from_numpy(points), Mlp(*layers)
        self._plan = Plan("move")
        with self._plan.recording():
            assign(self.points, self.points + self._network(self.points) * SPEED)
        self._layer.bind({"position": self.points, "size": RADIUS})

    def step(self) -> None:
        self._plan.replay()

    def upload(self, positions: np.ndarray) -> None:
        with self.points.resource(writable=True) as (buffer, offset, _):
            self.gpu.queue.write_buffer(buffer, offset, positions)

    def draw(self) -> None:
        self._renderer.draw([self._layer], self._camera, self._view, self._offscreen.view, SIZE)

    def frame(self, *parts: Callable[[], object]) -> Callable[[], None]:
        """A frame that executes these in turn, then draws."""

        def frame() -> None:
            with self.gpu.frames.frame():
                for part in parts:
                    part()
                self.draw()

        return frame

    def image(self) -> np.ndarray:
        self.draw()
        return image(self.gpu, self._offscreen)

    def close(self) -> None:
        self.gpu.sync()
        for each in (self._layer, self._plan, self._network, self.points):
            each.close()


@contextmanager
def our_program(layers: Layers, points: np.ndarray) -> Iterator[Ours]:
    program = Ours(layers, points)
    try:
        yield program
    finally:
        program.close()


class TorchPoints:
    """The same points moved by torch, compiled and replayed from a CUDA graph, then copied to pinned memory."""

    def __init__(self, torch: Any, layers: Layers, points: np.ndarray, precision_: str):
        self._torch = torch
        self.points = torch.from_numpy(points.copy()).cuda()
        self._pinned = torch.empty_like(self.points, device="cpu", pin_memory=True)
        self.host = self._pinned.numpy()
        torch.compiler.reset()
        with torch.no_grad(), precision(torch, precision_):
            network = torch.compile(torch_module(torch, layers), mode="max-autotune-no-cudagraphs")
            self._move = graphed(torch, lambda: self.points.add_(network(self.points), alpha=SPEED))
            self.points.copy_(torch.from_numpy(points))

    def step(self) -> None:
        self._move()
        self._pinned.copy_(self.points, non_blocking=True)
        self._torch.cuda.synchronize()


@pytest.mark.bench
def test_drawing_from_the_network_output_is_faster_than_every_copy_through_the_host() -> None:
    torch = torch_on_the_same_gpu()
    layers, points = random_layers(SIZES), start(POINTS)
    with our_program(layers, points) as ours:
        before = ours.gpu.meter.read()
        direct = frames_a_second(ours.frame(ours.step), ours.gpu.sync)
        moved = difference(ours.gpu.meter.read(), before)[Traffic.GEOMETRY.value]
        assert sum(moved.values()) == 0
        mine = ours.points.numpy()
        copied = frames_a_second(ours.frame(ours.step, lambda: ours.upload(ours.points.numpy())), ours.gpu.sync)
        peers = {"ours, through the host": copied}
        for name in ("f32", "TF32"):
            theirs = TorchPoints(torch, layers, points, name)
            frame = ours.frame(theirs.step, lambda theirs=theirs: ours.upload(theirs.host))
            peers[f"torch {name}, pinned memory, our renderer"] = frames_a_second(frame, ours.gpu.sync)
            if name == "f32":
                np.testing.assert_allclose(mine, theirs.host, rtol=1e-3, atol=1e-3)
    pytest.importorskip("pygfx", reason="compares with pygfx, which is not installed here")
    for name in ("f32", "TF32"):
        theirs = TorchPoints(torch, layers, points, name)
        screen = Pygfx(theirs.host)

        def frame(theirs: TorchPoints = theirs, screen: Pygfx = screen) -> None:
            theirs.step()
            screen.upload(theirs.host)
            screen.draw()

        peers[f"torch {name}, pinned memory, pygfx"] = frames_a_second(frame, screen.finish)
    work = f"a network moves {POINTS:,} points that are drawn"
    report(Result("network to screen, copies", work, "frames/s", direct, peers, "ours, through the host", 2.2))
    peer = "torch TF32, pinned memory, our renderer"
    report(Result("network to screen, torch's network", work, "frames/s", direct, peers, peer, 1.25))
    peer = "torch TF32, pinned memory, pygfx"
    report(Result("network to screen, the whole", work, "frames/s", direct, peers, peer, 2.5))


@pytest.mark.bench
def test_a_million_points_at_rest_are_drawn_faster_than_by_pygfx() -> None:
    torch_on_the_same_gpu()
    points = start(POINTS)
    with our_program(random_layers(SIZES), points) as ours:
        mine = frames_a_second(ours.frame(), ours.gpu.sync)
        drawn = ours.image()
    pytest.importorskip("pygfx", reason="compares with pygfx, which is not installed here")
    screen = Pygfx(points)
    peers = {"pygfx": frames_a_second(screen.draw, screen.finish)}
    assert_same_points(drawn, screen.image())
    report(Result("renderer", f"{POINTS:,} points at rest, 1280x720", "frames/s", mine, peers, "pygfx", 2.0))
