"""The CPU cost of one layer of each type in a frame, against the same wgpu calls as straight-line Python.

A layer is found, prepared and drawn, and its commands are finished. Its cost is the difference between an image of
none and one of several, per layer; the peer's are the same two images, compiled from our own calls (plain_loop.py).
"""

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
from vertigrad.renderer.layers.trails import TrailsLayer
from vertigrad.tensor import Tensor

from .plain_loop import plain_loop
from .results import Result, report
from .timing import instructions, lowest, quiet_quartiles

LEAST = 0.35  # times the speed of the bare calls; few of them for an image or slices, many for points
MOST_INSTRUCTIONS = 1.9  # of Python, of those of the bare calls through wgpu-py
COPIES = 6  # of the layer in an image
ROUNDS, WARM_UP = 200, 20
SIZE = (64, 48)
CASES = runpy.run_path(str(Path(__file__).parent.parent / "renderer" / "layers" / "kinds.py"))  # in no package
LOOK: dict[str, Any] = {"bloom": 0.0}


@pytest.fixture
def created(request: pytest.FixtureRequest) -> Iterator[list[Layer]]:
    """Layers of one type, with a separate tensor for each attribute and an automatic color range."""
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
    """Records images with advancing time, and drops them: a working software GPU would slow the CPU down.

    Each has its own renderer: layers determine its textures, and changing them is not measured.
    """

    def __init__(self, gpu: Gpu, layers: list[Layer]):
        usage = wgpu.TextureUsage.RENDER_ATTACHMENT
        texture = gpu.device.create_texture(size=(*SIZE, 1), format="rgba8unorm", usage=usage)
        self._gpu, self._target, self._layers = gpu, texture.create_view(), layers
        self._renderer, self._camera = Renderer(gpu, "rgba8unorm"), OrbitCamera(distance=4.0)
        self._view = View(**LOOK)
        self._time = 0.0

    def encode(self) -> None:
        self._time += 1 / 60
        self._renderer.draw(self._layers, self._camera, self._view, self._target, SIZE, self._time)

    def record(self) -> None:
        self.encode()
        self._gpu.recorder.finish()
        self._gpu.abandon()


@pytest.mark.turns(3)
@pytest.mark.bench
@pytest.mark.parametrize("created", CASES["KINDS"], indirect=True)
def test_a_layer_costs_little_more_than_its_bare_calls(created: list[Layer]) -> None:
    gpu = vertigrad.gpu()
    frames = [Frames(gpu, []), Frames(gpu, created)]
    if isinstance(created[0], TrailsLayer):
        for _ in range(2):  # they draw lines from their second position on, which a dropped image does not store
            frames[1].encode()
        gpu.submit()
    for each in frames:
        each.record()
    plain = [plain_loop(gpu, each.encode, submitted=False) for each in frames]
    programs = [*(each.record for each in frames), *plain]
    for program in programs:
        program()
    counts = [instructions(program) for program in programs]
    of_ours, of_plain = ((some - none) / COPIES for none, some in (counts[:2], counts[2:]))
    assert of_ours <= MOST_INSTRUCTIONS * of_plain, f"{of_ours} instructions, {of_plain} of the bare calls"
    timed = [lambda _, program=program: program() for program in programs]
    times: list[tuple[float, float]] = []

    def ratio() -> float:
        none, some, bare_none, bare_some = quiet_quartiles(*timed, rounds=ROUNDS, warm_up=WARM_UP)
        ours, bare = (some - none) / COPIES, max(bare_some - bare_none, 1e-9) / COPIES
        times.append((ours, bare))
        return ours / bare

    lowest(ratio, 1 / LEAST)
    ours, bare = min(times, key=lambda each: each[0] / each[1])
    work = type(created[0]).__name__
    report(Result("CPU time of a layer", work, "µs", ours * 1e6, {"bare calls": bare * 1e6}, "bare calls", LEAST))
