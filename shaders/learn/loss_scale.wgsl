// What gradients of a scaled loss are multiplied by before a step, and the loss's next scale: decided on the GPU.
// In: total, the sum of the squares of all gradients; state: the scale, and the steps since it changed; clip, the
//     largest norm that gradients of the loss itself may have, 0: any.
// Out: factor, below 0 if there is to be no step, since a gradient is no finite number; state.
//% include "common/finite.wgsl"

struct Params {
    clip: f32,
    growth_factor: f32,
    backoff_factor: f32,
    growth_interval: f32,
    total_offset: u32,
    state_offset: u32,
}

const LEAST = 1.0;
const MOST = 16777216.0;  // 2^24

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> total: array<f32>;
@group(0) @binding(2) var<storage, read_write> state: array<f32>;
@group(0) @binding(3) var<storage, read_write> factor: array<f32>;

@compute @workgroup_size(1)
fn main() {
    let squares = total[params.total_offset];
    let scale = state[params.state_offset];
    let steps = state[params.state_offset + 1u] + 1.0;
    if !is_finite(squares) {
        factor[0] = -1.0;
        state[params.state_offset] = max(scale * params.backoff_factor, LEAST);
        state[params.state_offset + 1u] = 0.0;
        return;
    }
    let norm = sqrt(squares) / scale;
    factor[0] = select(1.0, min(params.clip / (norm + 1e-12), 1.0), params.clip > 0.0) / scale;
    let is_due = steps >= params.growth_interval;
    state[params.state_offset] = select(scale, min(scale * params.growth_factor, MOST), is_due);
    state[params.state_offset + 1u] = select(steps, 0.0, is_due);
}
