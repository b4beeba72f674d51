"""A GPU, and images drawn with it."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest
import wgpu

from vertigrad.gpu import Gpu
from vertigrad.gpu import gpu as the_gpu
from vertigrad.renderer import OrbitCamera, Renderer, View
from vertigrad.renderer.highlight import Mark
from vertigrad.renderer.layers import Layer, types
from vertigrad.renderer.quality import Level
from vertigrad.tensor import Tensor

PLAIN: Mapping[str, Any] = {"bloom": 0.0, "vignette": 0.0, "background": "#000000"}


@pytest.fixture(scope="session")
def gpu() -> Gpu:
    return the_gpu()


@pytest.fixture
def layer(gpu: Gpu) -> Iterator[Callable[..., Layer]]:
    """Create a layer from arrays, tensors and constants: `layer("points", {"roughness": 1}, position=array)`."""
    created: list[Layer | Tensor] = []

    def make(kind: str, style: Mapping[str, Any] | None = None, **attributes: Any) -> Layer:
        for name, value in attributes.items():
            if isinstance(value, np.ndarray):
                attributes[name] = Tensor.from_numpy(value, name=name)
                created.append(attributes[name])
        layer_type = types()[kind]
        layer = layer_type(gpu, kind, layer_type.Style(**(style or {})))
        created.append(layer)
        layer.bind(attributes)
        return layer

    yield make
    for thing in reversed(created):
        thing.close()


@pytest.fixture
def render(gpu: Gpu) -> Callable[..., np.ndarray]:
    """Draw one image and read it back: uint8 [height, width, 3]."""

    def draw(
        layers: list[Layer],
        camera: OrbitCamera,
        view: View | None = None,
        size: tuple[int, int] = (160, 120),
        format: str = "rgba8unorm",
        mark: Mark | None = None,
        level: Level | None = None,
        time: float = 0.0,
    ) -> np.ndarray:
        usage = wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.COPY_SRC
        texture = gpu.device.create_texture(size=(*size, 1), format=format, usage=usage)  # type: ignore[arg-type]
        renderer = Renderer(gpu, format)
        renderer.draw(
            layers,
            camera,
            view or View(**PLAIN),
            texture.create_view(),
            size,
            time,
            marks=[mark] if mark else [],
            level=level,
        )
        return read(gpu, texture)[..., :3]

    return draw


def read(gpu: Gpu, texture: wgpu.GPUTexture) -> np.ndarray:
    """A texture of four bytes a pixel."""
    width, height = texture.size[:2]
    got: list[np.ndarray] = []

    def keep(data: memoryview) -> None:
        got.append(np.frombuffer(data, np.uint8).reshape(height, width, 4).copy())

    reading = gpu.readback.copy_texture(gpu.recorder.encoder, texture, 4 * width, keep)
    gpu.submit()
    gpu.readback.wait(reading)
    return got[0]
