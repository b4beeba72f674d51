// The points at which a network's distance is sampled on a cube around the origin, x fastest, z slowest.
// Out: points (side³, 6): x, y, z from -reach to reach, and the latent.
//% include "common/index.wgsl"

struct Params {
    side: u32,
    reach: f32,
    latent: vec3f,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> points: array<f32>;

@compute @workgroup_size(128)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.side * params.side * params.side {
        return;
    }
    let cell = vec3u(i % params.side, i / params.side % params.side, i / (params.side * params.side));
    let point = params.reach * (2.0 * vec3f(cell) / f32(params.side - 1u) - 1.0);
    for (var c = 0u; c < 3u; c += 1u) {
        points[6u * i + c] = point[c];
        points[6u * i + 3u + c] = params.latent[c];
    }
}
