"""A frame of many spheres, in wall time, against a bare wgpu program that draws the same instanced quads, in one run.

The bare program is straight-line wgpu-py (plain_loop.py) with the same shader, so that drawing is compared, not
shading: one draw of all quads, and the passes that bring the picture to the screen. It lacks what a layer adds: the
second draw for spheres too small to be seen as such, checks and counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import wgpu

import vertigrad
from vertigrad.gpu import Gpu
from vertigrad.renderer import OrbitCamera, Renderer, View
from vertigrad.renderer.layers import Layer
from vertigrad.renderer.layers.points import PointsLayer, PointsStyle
from vertigrad.tensor import Tensor

from .plain_loop import plain_loop
from .timing import lowest

BOUND = 1.2
ROUNDS = 7
FORMAT = "rgba8unorm"


class OneDraw(PointsLayer):
    """The layer without its second draw."""

    def draw_over(self, *nothing: object) -> None:
        pass


def seconds(gpu: Gpu, draw: Callable[[], None], pictures: int) -> float:
    """Wall time of a picture, from an idle GPU to an idle GPU."""
    gpu.sync()
    start = time.perf_counter()
    for _ in range(pictures):
        draw()
    gpu.recorder.encoder  # noqa: B018  so that there is something to wait for
    gpu.sync()
    return (time.perf_counter() - start) / pictures


def test_a_frame_of_spheres_costs_little_more_than_a_bare_program() -> None:
    """A million of them where the GPU is one; a software adapter draws fewer, into a smaller picture."""
    gpu = vertigrad.gpu()
    slow = gpu.adapter.kind == "software"
    count, size, pictures = (12_000, (160, 100), 1) if slow else (1_000_000, (1280, 720), 10)
    camera, radius = OrbitCamera(distance=3.0, fov=45.0), 0.9 / count ** (1 / 3)
    place = np.random.default_rng(7).uniform(-1, 1, (count, 3)).astype(np.float32)
    usage = wgpu.TextureUsage.RENDER_ATTACHMENT
    target = gpu.device.create_texture(size=(*size, 1), format=FORMAT, usage=usage).create_view()
    renderer, view = Renderer(gpu, FORMAT), View(bloom=0.0)
    whole, once = (kind(gpu, "spheres", PointsStyle()) for kind in (PointsLayer, OneDraw))
    with Tensor.from_numpy(place, name="place") as position:

        def encode(layer: Layer) -> None:
            renderer.draw([layer], camera, view, target, size)

        def ours() -> None:
            encode(whole)
            gpu.submit()

        def ratio() -> float:
            times = [(seconds(gpu, ours, pictures), seconds(gpu, bare, pictures)) for _ in range(ROUNDS)]
            mine, theirs = (float(np.percentile(kept, 25)) for kept in zip(*times[1:], strict=True))
            print(
                f"\n{count:,} spheres at {size[0]}x{size[1]} on {gpu.adapter}: ours {mine * 1e3:.2f} ms, bare "
                f"{theirs * 1e3:.2f} ms, ratio {mine / theirs:.2f}"
            )
            return mine / theirs

        for layer in (whole, once):
            layer.bind({"position": position, "size": radius})
        ours()
        bare = plain_loop(gpu, lambda: encode(once))
        found = lowest(ratio, BOUND)
        whole.close()
        once.close()
    assert found <= BOUND
