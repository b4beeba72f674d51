// Signed distances from a mesh, by brute force: every sample of a cube reads every triangle.
// The sign is that of the winding number, which asks for no closed mesh (Jacobson, Kavan and Sorkine-Hornung 2013, "Robust
// Inside-Outside Segmentation using Generalized Winding Numbers"), summed from the solid angles of the triangles (Van
// Oosterom and Strackee 1983).
// In: corners, nine numbers for each triangle. `gather` takes a part of them, so that no dispatch takes long: nearest² and
// winding go on from part to part. Out of `finish`: distances (side, side, side), z first, below 0 inside.
//% include "common/index.wgsl"

struct Params {
    side: u32,
    reach: f32,             // samples are from -reach to reach along each axis
    first: u32,             // triangle
    count: u32,             // of triangles
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> corners: array<f32>;
@group(0) @binding(2) var<storage, read_write> nearest: array<f32>;
@group(0) @binding(3) var<storage, read_write> winding: array<f32>;
@group(0) @binding(4) var<storage, read_write> distances: array<f32>;

fn position_of(i: u32) -> vec3f {
    let cell = vec3u(i % params.side, (i / params.side) % params.side, i / (params.side * params.side));
    return params.reach * (2.0 * vec3f(cell) / f32(params.side - 1u) - 1.0);
}

fn corner(at: u32) -> vec3f {
    return vec3f(corners[at], corners[at + 1u], corners[at + 2u]);
}

// The square of the distance from the origin to the edge from a to b.
fn to_edge(a: vec3f, b: vec3f) -> f32 {
    let edge = b - a;
    let part = clamp(-dot(a, edge) / max(dot(edge, edge), 1e-30), 0.0, 1.0);
    let closest = a + part * edge;
    return dot(closest, closest);
}

// And to the triangle.
fn to_triangle(a: vec3f, b: vec3f, c: vec3f) -> f32 {
    let across = cross(b - a, c - a);
    let sides = vec3f(dot(cross(b - a, -a), across), dot(cross(c - b, -b), across), dot(cross(a - c, -c), across));
    let height = dot(a, across);
    let over = all(sides >= vec3f(0.0)) && dot(across, across) > 0.0;
    let aside = min(to_edge(a, b), min(to_edge(b, c), to_edge(c, a)));
    return select(aside, height * height / max(dot(across, across), 1e-30), over);
}

// Half the solid angle of a triangle from the origin; above 0 where its back is visible.
fn half_angle(a: vec3f, b: vec3f, c: vec3f) -> f32 {
    let la = length(a);
    let lb = length(b);
    let lc = length(c);
    let above = dot(a, cross(b, c));
    let below = la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb;
    return select(atan2(above, below), 0.0, above == 0.0);
}

@compute @workgroup_size(64)
fn gather(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    if i >= params.side * params.side * params.side { return; }
    let here = position_of(i);
    var least = select(nearest[i], 3.4e38, params.first == 0u);
    var turns = select(winding[i], 0.0, params.first == 0u);
    for (var triangle = params.first; triangle < params.first + params.count; triangle += 1u) {
        let a = corner(9u * triangle) - here;
        let b = corner(9u * triangle + 3u) - here;
        let c = corner(9u * triangle + 6u) - here;
        least = min(least, to_triangle(a, b, c));
        turns += half_angle(a, b, c);
    }
    nearest[i] = least;
    winding[i] = turns;
}

@compute @workgroup_size(64)
fn finish(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    if i >= params.side * params.side * params.side { return; }
    let inside = abs(winding[i]) > 3.14159265;     // half of the full angle, in halves
    distances[i] = select(1.0, -1.0, inside) * sqrt(nearest[i]);
}
