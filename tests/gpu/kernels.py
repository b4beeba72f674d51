"""Kernels for the tests of plans, frames and submissions, and waits with a timeout."""

import time
from collections.abc import Callable
from functools import cache

from vertigrad.gpu import Gpu, Kernel

PUT = """
struct Params { count: u32, value: f32, x_offset: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> x: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x < params.count { x[params.x_offset + id.x] = params.value; }
}
"""

# y = scale * x + shift
AFFINE = """
struct Params { count: u32, scale: f32, shift: f32, x_offset: u32, y_offset: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x < params.count { y[params.y_offset + id.x] = params.scale * x[params.x_offset + id.x] + params.shift; }
}
"""

# x = factor * x + value, so the result shows the order of dispatches and the value of each
STEP = """
struct Params { count: u32, factor: f32, value: f32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> x: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x < params.count { x[id.x] = params.factor * x[id.x] + params.value; }
}
"""

NO_UNIFORM = """
@group(0) @binding(0) var<storage, read_write> x: array<f32>;

@compute @workgroup_size(1)
fn main() { x[0] += 1.0; }
"""

# work in proportion to `rounds`
SPIN = """
struct Params { rounds: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> x: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    var sum = x[id.x];
    for (var i = 0u; i < params.rounds; i += 1u) { sum = fract(sum * 1.7 + 0.3); }
    x[id.x] = sum;
}
"""


@cache
def kernel(source: str) -> Kernel:
    """Compiled once in the process."""
    return Kernel(source, "main", "test kernel")


def long_rounds(gpu: Gpu) -> int:
    """Rounds of `SPIN` that take at least some hundredths of a second."""
    return 20_000 if gpu.adapter.kind == "software" else 10_000_000


def poll_until(gpu: Gpu, done: Callable[[], bool]) -> None:
    """Poll as a program without frames does. Fails after a timeout."""
    give_up = time.perf_counter() + 300
    while not done():
        gpu.poll()
        assert time.perf_counter() < give_up, "waited for 5 minutes"


def everything_arrives(gpu: Gpu) -> None:
    """Wait until no reading is in flight."""
    poll_until(gpu, lambda: gpu.readback.in_flight == 0)
