// The steps around a network that computes the velocity of each point: the midpoint rule in the flow's own time.
// In and out: points (count, 8): x, y, z, the flow's time, the shape's three weights, and the speed; velocities (count, 3).
// The network runs between these entry points; app/vertigrad/models/neural/flow.py has their order, and the reference.
//% include "common/index.wgsl"

struct Params {
    count: u32,
    time: f32,
    step: f32,
    shape: vec3f,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> points: array<f32>;
@group(0) @binding(2) var<storage, read_write> middles: array<f32>;
@group(0) @binding(3) var<storage, read> velocities: array<f32>;

fn velocity(i: u32) -> vec3f {
    return vec3f(velocities[3u * i], velocities[3u * i + 1u], velocities[3u * i + 2u]);
}

// Tells the network when and where to.
@compute @workgroup_size(128)
fn aim(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.count {
        return;
    }
    points[8u * i + 3u] = params.time;
    for (var c = 0u; c < 3u; c += 1u) {
        points[8u * i + 4u + c] = params.shape[c];
    }
}

// Half a step, to where the velocity of the whole step is taken.
@compute @workgroup_size(128)
fn halve(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.count {
        return;
    }
    let half_step = 0.5 * params.step * velocity(i);
    for (var c = 0u; c < 3u; c += 1u) {
        middles[8u * i + c] = points[8u * i + c] + half_step[c];
        middles[8u * i + 4u + c] = points[8u * i + 4u + c];
    }
    middles[8u * i + 3u] = params.time + 0.5 * params.step;
}

@compute @workgroup_size(128)
fn move_on(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.count {
        return;
    }
    let speed = velocity(i);
    for (var c = 0u; c < 3u; c += 1u) {
        points[8u * i + c] += params.step * speed[c];
    }
    points[8u * i + 7u] = length(speed);
}
