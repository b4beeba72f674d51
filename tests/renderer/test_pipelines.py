"""Pipelines of the renderer are compiled by threads while the rest is recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import numpy as np
import pytest
import wgpu

from vertigrad.errors import ShaderError
from vertigrad.gpu import Gpu, compile_jobs, native, shader
from vertigrad.renderer import OrbitCamera, View
from vertigrad.renderer.bindings import COMPUTE, bind_group_layout
from vertigrad.renderer.pipelines import BY_FRAGMENTS, compute_pipeline, draw_cache, draw_shader

POST_PROCESS, AXES, MAPS = "draw/post_process.wgsl", "draw/axes.wgsl", "draw/environment_maps.wgsl"
FILE, ENTRY = "draw/farthest.wgsl", "farthest_pixels"


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """The threads that compile are at work until this is set."""
    leave = Event()
    with ThreadPoolExecutor(1) as threads:
        threads.submit(leave.wait)
        monkeypatch.setattr(compile_jobs, "_THREADS", threads)
        yield leave
        leave.set()


def farthest(gpu: Gpu) -> wgpu.GPUComputePipeline:
    layout = bind_group_layout(gpu, ("depth", "stored distances"), COMPUTE)
    draw_cache(gpu).drop([FILE])
    return compute_pipeline(gpu, FILE, ENTRY, [layout], {})


def test_a_pipeline_is_there_before_it_is_compiled(gpu: Gpu, busy: Event, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, create = list[str](), type(gpu.device).create_compute_pipeline

    def noted(device: wgpu.GPUDevice, **described: str) -> wgpu.GPUComputePipeline:
        compiled.append(described["label"])
        return create(device, **described)  # type: ignore[arg-type]

    monkeypatch.setattr(type(gpu.device), "create_compute_pipeline", noted)
    pipeline = farthest(gpu)
    assert isinstance(pipeline, wgpu.GPUComputePipeline) and pipeline.label == f"{FILE}:{ENTRY}" and not compiled
    gpu.recorder.compute_pass().set_pipeline(pipeline)  # needs it, and does not wait for the threads
    gpu.recorder.compute_pass().set_pipeline(pipeline)
    assert compiled == [pipeline.label]
    gpu.wait_idle()


def test_a_pipeline_is_of_the_device_that_it_was_described_for(
    gpu: Gpu, busy: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another one may have replaced it before a thread compiles it."""
    pipeline = farthest(gpu)
    with monkeypatch.context() as patch:
        patch.setattr(gpu, "device", None)
        assert pipeline._internal is not None


def test_values_that_render_differently_are_other_shaders(gpu: Gpu) -> None:
    """1 and True are equal in Python."""
    number, truth = (draw_shader(gpu, FILE, {"UNUSED": one}) for one in (1, True))
    assert number is not truth and draw_shader(gpu, FILE, {"UNUSED": 1}) is number


def test_what_a_shader_was_edited_to_is_compiled_at_once(gpu: Gpu, busy: Event) -> None:
    draw_shader(gpu, FILE, {})
    wrong = shader.used()[FILE].replace("fn ", "fun ", 1)
    with pytest.raises(ShaderError, match=f"{FILE}:"), shader.replaced({FILE: wrong}):
        farthest(gpu)
    assert isinstance(farthest(gpu), wgpu.GPUComputePipeline)


def test_layers_whose_light_is_deferred_compile_no_shader_that_lights_them(layer: Any) -> None:
    solid = layer("points", {}, position=np.zeros((2, 3), np.float32), size=0.3)
    assert {drawn for _, drawn, *_ in solid.drawing.pipelines._pipelines} >= {"gbuffer", "depth"}
    lit = [stage for stage, drawn, *_ in solid.drawing.pipelines._pipelines if drawn == "color" and not stage.over]
    assert not lit


def test_what_is_needed_last_is_begun_first(gpu: Gpu, layer: Any, render: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that threads compile it while the rest is recorded."""
    begun, needed = list[str](), list[str]()

    class Noted(native.PendingRenderPipeline):
        def __init__(self, label: str, wait: Callable[[], Any]):
            begun.append(label)
            super().__init__(label, wait)

        def __getattr__(self, name: str) -> Any:
            if not needed:
                begun_before.extend(begun)
            needed.append(self._label)
            return super().__getattr__(name)

    begun_before = list[str]()
    solid = layer("points", {}, position=np.zeros((2, 3), np.float32), size=0.3)
    draw_cache(gpu).drop([POST_PROCESS, AXES, MAPS])
    monkeypatch.setattr(native, "PendingRenderPipeline", Noted)
    render([solid], OrbitCamera(), View(axes=True, environment="sky"))
    last = {f"{AXES}:overlay_fragment", f"{MAPS}:irradiance_fragment"}
    if gpu.adapter.kind in BY_FRAGMENTS:
        last.add(f"{POST_PROCESS}:post_process_fragment")
    assert last <= set(needed) and last <= set(begun_before)
