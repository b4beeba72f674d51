// Smoke from nozzles at the inflow of a wind tunnel, which the air carries along. Up is +z.

struct Fields {
    air_columns: u32, air_rows: u32, nozzles: u32, puffs: u32,
    dt: f32, time: f32, pace: f32, lifetime: f32, lowest: f32, highest: f32, thickness: f32, opacity: f32,
}
@group(0) @binding(0) var<uniform> fields: Fields;
@group(0) @binding(1) var<storage, read> air: array<f32>;               // (rows, columns, 2), relative to the inflow
@group(0) @binding(2) var<storage, read_write> position: array<f32>;    // of puffs of smoke
@group(0) @binding(3) var<storage, read_write> color: array<f32>;       // sRGB and opacity
@group(0) @binding(4) var<storage, read_write> size: array<f32>;

const TUNNEL = 3.0;     // its length
const WHITE = vec3f(0.86, 0.93, 1.0);

// In [0, 1): the PCG hash (Jarzynski and Olano 2020).
fn random(row: u32, stream: u32) -> f32 {
    let state = (row * 4u + stream) * 747796405u + 2891336453u;
    let word = ((state >> ((state >> 28u) + 4u)) ^ state) * 277803737u;
    return f32(((word >> 22u) ^ word) >> 8u) / 16777216.0;
}

fn cell_of(at: vec2f) -> vec2f {            // of a point (x, z) in the tunnel
    let cells = vec2f(f32(fields.air_columns), f32(fields.air_rows));
    return at * cells.x / TUNNEL + 0.5 * (cells - 1.0);
}

fn air_at(cell: vec2u) -> vec2f {
    let first = 2u * (cell.y * fields.air_columns + cell.x);
    return vec2f(air[first], air[first + 1u]);
}

fn velocity(at: vec2f) -> vec2f {
    let last = vec2f(f32(fields.air_columns - 1u), f32(fields.air_rows - 1u));
    let place = clamp(cell_of(at), vec2f(0.0), last - 1e-3);
    let cell = vec2u(place);
    let part = fract(place);
    let low = mix(air_at(cell), air_at(cell + vec2u(1u, 0u)), part.x);
    let high = mix(air_at(cell + vec2u(0u, 1u)), air_at(cell + 1u), part.x);
    return fields.pace * mix(low, high, part.y);
}

fn write(row: u32, at: vec2f, age: f32) {
    let thick = fields.thickness * (1.0 + 1.2 * age / fields.lifetime);
    position[3u * row] = at.x;
    position[3u * row + 1u] = fields.thickness * (random(row, 0u) - 0.5);
    position[3u * row + 2u] = at.y;
    for (var k = 0u; k < 3u; k++) { color[4u * row + k] = WHITE[k]; }
    let part = age / fields.lifetime;
    color[4u * row + 3u] = fields.opacity * (1.0 - smoothstep(0.85, 1.0, part));
    size[row] = thick * (0.7 + 0.6 * random(row, 1u));
}

fn nozzle(index: u32) -> vec2f {
    let height = mix(fields.lowest, fields.highest, f32(index) / f32(max(fields.nozzles, 2u) - 1u));
    return vec2f(-0.49 * TUNNEL, height);
}

fn age_at(time: f32, puff: u32) -> f32 {
    return fields.lifetime * fract(time / fields.lifetime + f32(puff) / f32(fields.puffs));
}

@compute @workgroup_size(8, 8)
fn fill(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= fields.puffs || id.y >= fields.nozzles { return; }
    let age = age_at(0.0, id.x);
    write(id.y * fields.puffs + id.x, nozzle(id.y) + vec2f(fields.pace * age, 0.0), age);
}

@compute @workgroup_size(8, 8)
fn blow(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= fields.puffs || id.y >= fields.nozzles { return; }
    let row = id.y * fields.puffs + id.x;
    let age = age_at(fields.time + fields.dt, id.x);
    var at = vec2f(position[3u * row], position[3u * row + 2u]);
    let middle = at + 0.5 * fields.dt * velocity(at);
    at += fields.dt * velocity(middle);
    if age < fields.dt { at = nozzle(id.y) + vec2f(fields.pace * age, 0.0); }
    write(row, at, age);
}
