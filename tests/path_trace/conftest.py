"""A GPU, layers, images of the renderer, and path-traced ones."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from vertigrad.gpu import Gpu
from vertigrad.path_trace import PathTracer, gather
from vertigrad.renderer import OrbitCamera, View
from vertigrad.renderer.layers import Layer
from vertigrad.renderer.view_uniforms import moment_of

from ..renderer.conftest import gpu, layer, render  # noqa: F401


@pytest.fixture
def tracer(gpu: Gpu) -> Iterator[Callable[..., PathTracer]]:  # noqa: F811
    """Create a path tracer of layers that has traced so many samples."""
    created: list[PathTracer] = []

    def make(
        layers: list[Layer],
        camera: OrbitCamera,
        view: View,
        size: tuple[int, int] = (24, 24),
        samples: int = 16,
        time: float = 0.0,
        **options: Any,
    ) -> PathTracer:
        created.append(PathTracer(gpu, gather(layers, moment_of(view, camera, time)), view, camera, size, **options))
        while created[-1].samples < samples:
            created[-1].advance(samples)
        return created[-1]

    yield make
    for one in created:
        one.close()


@pytest.fixture
def trace(tracer: Callable[..., PathTracer]) -> Callable[..., np.ndarray]:
    """Linear light and coverage of layers, f32 (height, width, 4)."""
    return lambda *arguments, **options: tracer(*arguments, **options).light()
