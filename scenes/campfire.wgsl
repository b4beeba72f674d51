// Logs and stones of a campfire, and the ground around it.

struct Fields { logs: u32, stones: u32, side: u32, ring: f32 }
@group(0) @binding(0) var<uniform> fields: Fields;
@group(0) @binding(1) var<storage, read_write> log_position: array<f32>;
@group(0) @binding(2) var<storage, read_write> log_direction: array<f32>;
@group(0) @binding(3) var<storage, read_write> log_size: array<f32>;
@group(0) @binding(4) var<storage, read_write> stone_position: array<f32>;
@group(0) @binding(5) var<storage, read_write> stone_size: array<f32>;
@group(0) @binding(6) var<storage, read_write> stone_color: array<f32>;
@group(0) @binding(7) var<storage, read_write> ground_position: array<f32>;
@group(0) @binding(8) var<storage, read_write> ground_color: array<f32>;

const TURN = 6.2831853;
const THICK = 0.034;        // radius of a log [m]
const LONG = 0.25;          // half its length [m]
const REACH = 8.0;          // half the edge of the ground [m]
const NIGHT = vec2f(1.0, 5.0);  // from here to there [m] the ground becomes as dark as what is behind it
const SOIL = vec3f(0.30, 0.26, 0.22);
const SOOT = vec3f(0.09, 0.085, 0.08);
const RISE = 0.42;          // slope of the logs, which lean on each other

fn random(row: u32, stream: u32) -> f32 {   // in [0, 1): the PCG hash (Jarzynski and Olano 2020)
    let state = (row * 4u + stream) * 747796405u + 2891336453u;
    let word = ((state >> ((state >> 28u) + 4u)) ^ state) * 277803737u;
    return f32(((word >> 22u) ^ word) >> 8u) / 16777216.0;
}

@compute @workgroup_size(64)
fn lay(@builtin(global_invocation_id) id: vec3u) {
    let row = id.x;
    if row < fields.logs {
        let angle = TURN * (f32(row) + 0.5 * random(row, 0u)) / f32(fields.logs);
        let thick = THICK * (0.8 + 0.5 * random(row, 1u));
        let toward = normalize(vec3f(-cos(angle), RISE, -sin(angle)));
        let middle = vec3f(0.24 * cos(angle), LONG * toward.y + 0.5 * thick, 0.24 * sin(angle));
        for (var k = 0u; k < 3u; k++) {
            log_position[3u * row + k] = middle[k];
            log_direction[3u * row + k] = toward[k];
            log_size[3u * row + k] = vec3f(thick, LONG, thick)[k];
        }
    }
    if row < fields.stones {
        let angle = TURN * (f32(row) + 0.3 * random(row, 2u)) / f32(fields.stones);
        let size = TURN * fields.ring / f32(fields.stones) * (0.36 + 0.14 * random(row, 3u));
        let flat = vec3f(size, size * (0.6 + 0.3 * random(row + 64u, 0u)), size * 0.85);
        let middle = vec3f(fields.ring * cos(angle), 0.5 * flat.y, fields.ring * sin(angle));
        for (var k = 0u; k < 3u; k++) {
            stone_position[3u * row + k] = middle[k];
            stone_size[3u * row + k] = flat[k];
            stone_color[3u * row + k] = (0.28 + 0.16 * random(row + 64u, 1u)) * vec3f(1.06, 1.0, 0.94)[k];
        }
    }
}

// Ground, with the most points near the fire.
@compute @workgroup_size(8, 8)
fn spread(@builtin(global_invocation_id) id: vec3u) {
    if any(id.xy >= vec2u(fields.side)) { return; }
    let unit = 2.0 * vec2f(id.xy) / f32(fields.side - 1u) - 1.0;
    let at = REACH * unit * (0.1 + 0.9 * unit * unit);
    let row = id.y * fields.side + id.x;
    ground_position[3u * row] = at.x;
    ground_position[3u * row + 2u] = at.y;
    let shade = 0.85 + 0.3 * random(row, 0u);
    let lit = 1.0 - smoothstep(NIGHT.x, NIGHT.y, length(at));
    let color = lit * shade * mix(SOOT, SOIL, smoothstep(0.7, 1.0, length(at) / fields.ring));
    for (var k = 0u; k < 3u; k++) { ground_color[3u * row + k] = color[k]; }
}
