// Pumping: particles from all over the fluid come out of a round nozzle, one layer at a time.
// In and out: positions (x, y, z, density), velocities (velocity, speed), pressures of params.count particles; row
// params.first + k * params.stride, wrapped, becomes number k of the layer. Rows are stored cell by cell, so that these are
// spread evenly.
//% include "common/index.wgsl"

struct Params {
    count: u32,
    layer: u32,        // particles of the layer
    first: u32,
    stride: u32,
    spacing: f32,
    nozzle: vec3f,
    velocity: vec3f,   // of the jet, not 0
    tank_low: vec3f,
    tank_high: vec3f,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> positions: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> velocities: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> pressures: array<f32>;

const GOLDEN = 2.39996323;  // the angle from one seed of a sunflower to the next (Vogel 1979)

@compute @workgroup_size(128)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let k = linear_index(id, num_workgroups, 128u);
    if k >= params.layer {
        return;
    }
    let row = (params.first + k * params.stride) % params.count;
    let ahead = normalize(params.velocity);
    let sideways = normalize(cross(ahead, select(vec3f(0.0, 1.0, 0.0), vec3f(1.0, 0.0, 0.0), abs(ahead.y) > 0.7)));
    let radius = params.spacing * sqrt((f32(k) + 0.5) / 3.14159265);
    let angle = GOLDEN * f32(k);
    let position = params.nozzle + radius * (cos(angle) * sideways + sin(angle) * cross(ahead, sideways));
    let margin = 0.5 * params.spacing;
    positions[row] = vec4f(clamp(position, params.tank_low + margin, params.tank_high - margin), positions[row].w);
    velocities[row] = vec4f(params.velocity, length(params.velocity));
    pressures[row] = 0.0;
}
