// The corners of the triangles of birds in world space, as draw/birds.wgsl draws them. In: for each bird its position, its size, its
// direction and its bank. Out: corners (n, 45, 3).
//% include "common/index.wgsl"
//% include "common/birds.wgsl"

struct Params {
    count: u32,             // of birds
    time: f32,              // seconds
    beat: f32,              // wing beats per second
    amplitude: f32,         // of the wings [rad]
    glide: f32,             // fraction of the time without beats
    up: vec3f,              // the world's up
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> birds: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> corners: array<f32>;

const CORNERS = BODY_CORNERS + 2u * WING_CORNERS;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(id, groups, 64u);
    if i >= params.count * CORNERS { return; }
    let row = i / CORNERS;
    let bird = birds[2u * row];
    let flight = birds[2u * row + 1u];
    let wings = Wings(params.time, params.beat, params.amplitude, params.glide);
    let corner = bird.xyz + turned(bird_corner(i % CORNERS, row, wings) * bird.w, flight.xyz, flight.w, params.up);
    corners[3u * i] = corner.x;
    corners[3u * i + 1u] = corner.y;
    corners[3u * i + 2u] = corner.z;
}
