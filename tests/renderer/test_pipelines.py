"""Pipelines of the renderer are compiled by threads while the rest is recorded."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
import wgpu

from vertigrad.errors import ShaderError
from vertigrad.gpu import Gpu, compile_jobs, shader
from vertigrad.renderer.bindings import COMPUTE, bind_group_layout
from vertigrad.renderer.pipelines import compute_pipeline, draw_cache, draw_shader

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


def test_what_a_shader_was_edited_to_is_compiled_at_once(gpu: Gpu, busy: Event) -> None:
    draw_shader(gpu, FILE, {})
    wrong = shader.used()[FILE].replace("fn ", "fun ", 1)
    with pytest.raises(ShaderError, match=f"{FILE}:"), shader.replaced({FILE: wrong}):
        farthest(gpu)
    assert isinstance(farthest(gpu), wgpu.GPUComputePipeline)
