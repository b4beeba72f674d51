"""What one layer of each kind costs the CPU in a frame: found, prepared, drawn, and its commands finished."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import wgpu

import vertigrad
from vertigrad.gpu import Gpu
from vertigrad.renderer import OrbitCamera, Renderer, View
from vertigrad.renderer.layers import Layer, types
from vertigrad.tensor import Tensor

from .timing import lowest, quiet_quartiles

BOUND = 25e-6  # seconds of CPU for each layer, on a machine whose
EMPTY = 180e-6  # seconds are what a picture of nothing takes: where caches are shared, everything takes longer
COPIES = 6  # of the layer in a picture: what one costs is the slope
ROUNDS, WARM_UP = 200, 20
SIZE = (64, 48)
CASES = runpy.run_path(str(Path(__file__).parent.parent / "renderer" / "layers" / "kinds.py"))  # in no package
LOOK: dict[str, Any] = {"bloom": 0.0}


@pytest.fixture
def made(request: pytest.FixtureRequest) -> Iterator[list[Layer]]:
    """So many layers of one kind, every attribute of each a tensor of its own, the range of the colours automatic."""
    gpu, layers, tensors = vertigrad.gpu(), [], []
    style, arrays = CASES["drawn"](request.param)
    kind = types()[request.param]
    for number in range(COPIES):
        bound = {name: Tensor.from_numpy(array, name=name) for name, array in arrays.items()}
        layers.append(kind(gpu, f"{request.param} {number}", kind.Style(**style)))
        layers[-1].bind(bound)
        tensors += bound.values()
    yield layers
    for thing in (*layers, *tensors):
        thing.close()


class Frames:
    """Records pictures with a time that passes, and drops them: a software GPU at work would slow the CPU down."""

    def __init__(self, gpu: Gpu):
        usage = wgpu.TextureUsage.RENDER_ATTACHMENT
        texture = gpu.device.create_texture(size=(*SIZE, 1), format="rgba8unorm", usage=usage)
        self._gpu, self._target = gpu, texture.create_view()
        self._renderer, self._camera = Renderer(gpu, "rgba8unorm"), OrbitCamera(distance=4.0)
        self._view = View(**LOOK)
        self._time = 0.0

    def record(self, layers: list[Layer]) -> None:
        self._time += 1 / 60
        self._renderer.draw(layers, self._camera, self._view, self._target, SIZE, self._time)
        self._gpu.recorder.finish()
        self._gpu.abandon()


@pytest.mark.parametrize("made", CASES["KINDS"], indirect=True)
def test_a_layer_costs_at_most_25_microseconds_a_frame(made: list[Layer]) -> None:
    frames = Frames(vertigrad.gpu())

    def cost() -> float:
        programs = (lambda _: frames.record([])), (lambda _: frames.record(made))
        few, many = quiet_quartiles(*programs, rounds=ROUNDS, warm_up=WARM_UP)
        each = (many - few) / COPIES
        print(f"\n{type(made[0]).__name__}: {each * 1e6:.1f} µs a frame, an empty picture {few * 1e6:.0f} µs")
        return each / max(1.0, few / EMPTY)

    assert lowest(cost, BOUND) <= BOUND
