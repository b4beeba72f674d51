"""Images of one renderer, all of one size: faster than a new renderer for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
import wgpu

from vertigrad.gpu import Gpu
from vertigrad.renderer import OrbitCamera, Renderer, View
from vertigrad.renderer.layers import Layer

from .kinds import CAMERA, PLAIN, SIZE


@pytest.fixture(scope="module")
def shot(gpu: Gpu) -> Iterator[Callable[..., np.ndarray]]:
    """`shot(layer, ..., camera=..., view=..., time=...)`: uint8 [height, width, 4], alpha 0 where nothing was drawn."""
    usage = wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.COPY_SRC
    texture = gpu.device.create_texture(size=(*SIZE, 1), format="rgba8unorm", usage=usage)
    target, renderer, plain = texture.create_view(), Renderer(gpu, "rgba8unorm", transparent=True), View(**PLAIN)

    def draw(*layers: Layer, camera: OrbitCamera = CAMERA, view: View | None = None, time: float = 0.0) -> np.ndarray:
        got: list[np.ndarray] = []

        def keep(data: memoryview) -> None:
            got.append(np.frombuffer(data, np.uint8).reshape(SIZE[1], SIZE[0], 4).copy())

        renderer.draw(layers, camera, view or plain, target, SIZE, time)
        reading = gpu.readback.copy_texture(gpu.recorder.encoder, texture, 4 * SIZE[0], keep)
        gpu.submit()
        gpu.readback.wait(reading)
        return got[0]

    yield draw
