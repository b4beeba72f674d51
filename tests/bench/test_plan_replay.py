"""Replaying a plan against the same calls through plain wgpu-py, in one run.

The wgpu-py program is optimized by hand: everything created once, one pass, the pipeline set once. Both leave the
same numbers in the buffers. Floor: two raw calls a dispatch at 0.33 µs are 132 µs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import wgpu

import vertigrad
from vertigrad import Tensor
from vertigrad.gpu import Kernel, Plan

from .results import Result, report
from .timing import lowest, quiet_quartiles

DISPATCHES = 200
ROUNDS = 300
QUIET = 2.0  # percentile of the times, which excludes cold caches after other processes ran
LEAST = 1.3  # times the speed of wgpu-py
START = np.random.default_rng(1).normal(size=(DISPATCHES, 64)).astype(np.float32)
SHADER = """
struct Params { factor: f32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> data: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    data[id.x] = data[id.x] * params.factor;
}
"""


def plain_wgpu(device: wgpu.GPUDevice) -> tuple[Callable[[float], None], Callable[[], np.ndarray]]:
    """200 dispatches with a uniform each, in plain wgpu-py; the frame, and a reading of the buffers."""
    module = device.create_shader_module(code=SHADER)
    layout = device.create_bind_group_layout(
        entries=[
            {
                "binding": 0,
                "visibility": wgpu.ShaderStage.COMPUTE,
                "buffer": {"type": "uniform", "has_dynamic_offset": True},
            },
            {"binding": 1, "visibility": wgpu.ShaderStage.COMPUTE, "buffer": {"type": "storage"}},
        ]
    )
    pipeline = device.create_compute_pipeline(
        layout=device.create_pipeline_layout(bind_group_layouts=[layout]),
        compute={"module": module, "entry_point": "main"},
    )
    usage = wgpu.BufferUsage
    step = max(16, device.limits["min-uniform-buffer-offset-alignment"])
    uniforms = device.create_buffer(size=step * DISPATCHES, usage=usage.UNIFORM | usage.COPY_DST)
    flags = usage.STORAGE | usage.COPY_DST | usage.COPY_SRC
    buffers = [device.create_buffer(size=256, usage=flags) for _ in range(DISPATCHES)]
    for buffer, numbers in zip(buffers, START, strict=True):
        device.queue.write_buffer(buffer, 0, numbers)
    groups = [
        device.create_bind_group(
            layout=layout,
            entries=[
                {"binding": 0, "resource": {"buffer": uniforms, "offset": 0, "size": 16}},
                {"binding": 1, "resource": {"buffer": buffer, "offset": 0, "size": 256}},
            ],
        )
        for buffer in buffers
    ]
    image = np.zeros((DISPATCHES, step // 4), np.float32)

    def frame(factor: float) -> None:
        image[:, 0] = factor
        device.queue.write_buffer(uniforms, 0, image)
        encoder = device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(pipeline)
        for i, group in enumerate(groups):
            compute.set_bind_group(0, group, (i * step,))
            compute.dispatch_workgroups(1)
        compute.end()
        device.queue.submit([encoder.finish()])

    return frame, lambda: np.stack([np.frombuffer(device.queue.read_buffer(b), np.float32) for b in buffers])


def replayed_plan() -> tuple[Callable[[float], None], Callable[[], np.ndarray], Callable[[], None]]:
    """The same as a plan: the frame, a readback of the tensors, and a function that closes both."""
    gpu = vertigrad.gpu()
    kernel = Kernel(SHADER, "main", "bench")
    tensors = [Tensor.from_numpy(numbers, name=f"t{i}") for i, numbers in enumerate(START)]
    plan = Plan("bench")
    for tensor in tensors:
        plan.dispatch(kernel, 64, data=tensor)

    def frame(factor: float) -> None:
        plan.replay(factor=factor)
        gpu.submit()

    def close() -> None:
        for each in (plan, *tensors):
            each.close()

    return frame, lambda: np.stack([tensor.numpy() for tensor in tensors]), close


@pytest.mark.turns(3)
@pytest.mark.bench
def test_replay_costs_less_than_plain_wgpu() -> None:
    (ours, our_numbers, close), (plain, their_numbers) = replayed_plan(), plain_wgpu(vertigrad.gpu().device)
    for factor in (2.0, 0.75):
        ours(factor)
        plain(factor)
    np.testing.assert_array_equal(our_numbers(), START * np.float32(1.5))
    np.testing.assert_array_equal(their_numbers(), our_numbers())
    times: list[tuple[float, float]] = []

    def ratio() -> float:
        mine, theirs = quiet_quartiles(
            lambda n: ours(0.5 + 1e-3 * n), lambda n: plain(0.5 + 1e-3 * n), rounds=ROUNDS, warm_up=5, percentile=QUIET
        )
        times.append((mine, theirs))
        return mine / theirs

    lowest(ratio, 1 / LEAST)
    close()
    mine, theirs = min(times, key=lambda each: each[0] / each[1])
    peers = {"wgpu-py": theirs * 1e6}
    report(Result("CPU time of encoding", f"{DISPATCHES} dispatches", "µs", mine * 1e6, peers, "wgpu-py", LEAST))
