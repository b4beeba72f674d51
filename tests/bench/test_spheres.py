"""A frame of many spheres, in wall time, against a bare wgpu program that draws them as instanced quads, in one run.

The bare program is straight-line wgpu-py (plain_loop.py): one draw of all quads with the layer's shader, and the passes
that bring the image to the screen. It lacks what a layer adds: the second draw for spheres too small to be visible as
such, checks and counts. Where the layer splats points in compute shaders instead (from 2¹⁷ on), the bare program still
draws quads, so that the two methods are compared. Both draw the same image.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

import vertigrad
from vertigrad.gpu import Gpu
from vertigrad.headless.offscreen import FORMAT, Offscreen
from vertigrad.renderer import OrbitCamera, Renderer, View
from vertigrad.renderer.layers import Layer
from vertigrad.renderer.layers import points as points_module
from vertigrad.renderer.layers.points import PointsLayer, PointsStyle
from vertigrad.tensor import Tensor

from .images import clear, image
from .plain_loop import plain_loop
from .results import Result, report
from .timing import lowest

LEAST = 0.85  # times the speed of the bare program
ROUNDS = 7


class Quads(PointsLayer):
    """The layer without its second draw, and without splatting."""

    def draw_over(self, *nothing: object) -> None:
        pass


def seconds(gpu: Gpu, draw: Callable[[], None], images: int) -> float:
    """Wall time of an image, from an idle GPU to an idle GPU."""
    gpu.sync()
    start = time.perf_counter()
    for _ in range(images):
        draw()
    gpu.recorder.encoder  # noqa: B018  so that there is something to wait for
    gpu.sync()
    return (time.perf_counter() - start) / images


@pytest.mark.turns(3)
def test_a_frame_of_spheres_costs_little_more_than_a_bare_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million of them where the GPU is one; a software adapter draws fewer, into a smaller image."""
    gpu = vertigrad.gpu()
    slow = gpu.adapter.kind == "software"
    count, size, frames = (12_000, (160, 100), 1) if slow else (1_000_000, (1280, 720), 10)
    camera, radius = OrbitCamera(distance=3.0, fov=45.0), 0.9 / count ** (1 / 3)
    centers = np.random.default_rng(7).uniform(-1, 1, (count, 3)).astype(np.float32)
    offscreen = Offscreen(gpu, size)
    renderer, view = Renderer(gpu, FORMAT), View(bloom=0.0)
    layer, quads = (kind(gpu, "spheres", PointsStyle()) for kind in (PointsLayer, Quads))
    times: list[tuple[float, float]] = []
    with Tensor.from_numpy(centers, name="centers") as position:

        def encode(layer: Layer) -> None:
            position.block.note_write()  # as after a step: else the light is that of the image before
            renderer.draw([layer], camera, view, offscreen.view, size)

        def ours() -> None:
            encode(layer)
            gpu.submit()

        def ratio() -> float:
            taken = [(seconds(gpu, ours, frames), seconds(gpu, bare, frames)) for _ in range(ROUNDS)]
            mine, theirs = (float(np.percentile(samples, 25)) for samples in zip(*taken[1:], strict=True))
            times.append((mine, theirs))
            return mine / theirs

        layer.bind({"position": position, "size": radius})
        with monkeypatch.context() as patch:
            patch.setattr(points_module, "adds_up", lambda *_: False)
            quads.bind({"position": position, "size": radius})
        ours()
        drawn = image(gpu, offscreen)
        bare = plain_loop(gpu, lambda: encode(quads))
        clear(gpu, offscreen)
        bare()
        difference = np.abs(image(gpu, offscreen).astype(int) - drawn).max(axis=2)
        assert (difference > 2).mean() < 1e-3, "the two programs draw different images"
        lowest(ratio, 1 / LEAST)
        layer.close()
        quads.close()
    mine, theirs = min(times, key=lambda each: each[0] / each[1])
    work = f"{count:,} spheres, {size[0]}x{size[1]}"
    report(Result("frame", work, "ms", mine * 1e3, {"bare quads": theirs * 1e3}, "bare quads", LEAST))
