// The steps around a network that computes the signed distance of each point: rays from outside towards the center, each
// followed to the surface, and there the gradient of the distance.
// In: directions (count, 3), unit vectors. Between: points (count, 6): x, y, z and the latent; rays (count, 3): radius, and
// radius and distance one step before; around (4 count, 6): points next to those found. distances are the network's answers,
// (count) for points and (4 count) for around.
// Out: positions and normals (count, 3), levels (count): mean curvature.
// The network runs between these entry points; app/vertigrad/models/neural/sdf_surface.py has their order, and the reference.
//% include "common/index.wgsl"

struct Params {
    count: u32,
    traced: u32,        // 1: go by the distance, 0: by the secant through this and the last
    start: f32,
    spacing: f32,        // distance of the points around
    latent: vec3f,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> directions: array<f32>;
@group(0) @binding(2) var<storage, read_write> points: array<f32>;
@group(0) @binding(3) var<storage, read_write> rays: array<f32>;
@group(0) @binding(4) var<storage, read> distances: array<f32>;
@group(0) @binding(5) var<storage, read_write> around: array<f32>;
@group(0) @binding(6) var<storage, read_write> positions: array<f32>;
@group(0) @binding(7) var<storage, read_write> normals: array<f32>;
@group(0) @binding(8) var<storage, read_write> levels: array<f32>;

const FLATTEST = 0.15;  // derivatives along a ray, as far as secants are trusted
const STEEPEST = 2.0;

// The corners of a tetrahedron on the unit sphere.
fn corner(k: u32) -> vec3f {
    let signs = vec3f(vec3u(k & 2u, k & 1u, (k ^ (k >> 1u)) & 1u) != vec3u(0u));
    return (1.0 - 2.0 * signs) * 0.57735026919;
}

fn set_point(i: u32, radius: f32) {
    for (var c = 0u; c < 3u; c += 1u) {
        points[6u * i + c] = radius * directions[3u * i + c];
    }
}

@compute @workgroup_size(128)
fn begin(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.count {
        return;
    }
    set_point(i, params.start);
    for (var c = 0u; c < 3u; c += 1u) {
        points[6u * i + 3u + c] = params.latent[c];
    }
    rays[3u * i] = params.start;
}

@compute @workgroup_size(128)
fn march(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.count {
        return;
    }
    let radius = rays[3u * i];
    let far = distances[i];
    var derivative = 1.0;
    if params.traced == 0u {
        let change_of_radius = radius - rays[3u * i + 1u];
        let change = far - rays[3u * i + 2u];
        derivative = clamp(change / select(change_of_radius, 1.0, change_of_radius == 0.0), FLATTEST, STEEPEST);
    }
    let next = clamp(radius - far / derivative, 0.0, params.start);
    rays[3u * i] = next;
    rays[3u * i + 1u] = radius;
    rays[3u * i + 2u] = far;
    set_point(i, next);
}

@compute @workgroup_size(128)
fn surround(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let n = linear_index(id, num_workgroups, 128u);
    if n >= 4u * params.count {
        return;
    }
    let i = n / 4u;
    let offset = params.spacing * corner(n - 4u * i);
    for (var c = 0u; c < 3u; c += 1u) {
        around[6u * n + c] = points[6u * i + c] + offset[c];
        around[6u * n + 3u + c] = points[6u * i + 3u + c];
    }
}

@compute @workgroup_size(128)
fn finish(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.count {
        return;
    }
    var gradient = vec3f(0.0);
    var sum = 0.0;
    for (var k = 0u; k < 4u; k += 1u) {
        gradient += distances[4u * i + k] * corner(k);
        sum += distances[4u * i + k];
    }
    gradient *= 0.75 / params.spacing;
    let steep = length(gradient);
    for (var c = 0u; c < 3u; c += 1u) {
        positions[3u * i + c] = points[6u * i + c];
        normals[3u * i + c] = select(directions[3u * i + c], gradient[c] / steep, steep > 1e-12);
    }
    levels[i] = 0.75 * sum / (params.spacing * params.spacing * max(steep, 1e-12));
}
