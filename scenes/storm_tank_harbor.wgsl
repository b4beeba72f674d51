// What is around a wave tank: the frame of its glass, and containers behind it.

struct Fields { bar: f32, length: f32, height: f32, width: f32, containers: u32 }
@group(0) @binding(0) var<uniform> fields: Fields;
@group(0) @binding(1) var<storage, read_write> bar_position: array<f32>;         // 8 x 3: posts, and a rim around the bed
@group(0) @binding(2) var<storage, read_write> bar_size: array<f32>;
@group(0) @binding(3) var<storage, read_write> container_position: array<f32>;   // `containers` x PIECES x 3
@group(0) @binding(4) var<storage, read_write> container_size: array<f32>;
@group(0) @binding(5) var<storage, read_write> container_color: array<f32>;

const PAINTS = array<vec3f, 5>(
    vec3f(0.31, 0.31, 0.31), vec3f(0.19, 0.27, 0.33), vec3f(0.46, 0.45, 0.42), vec3f(0.22, 0.29, 0.26), vec3f(0.42, 0.33, 0.22),
);
const HALF = vec3f(3.03, 1.295, 1.22);      // of a container of 20 feet [m]: ISO 668
const COLUMNS = 7u;                         // in a row
const PIECES = 24u;                         // a container, and the ribs of its front

fn random(row: u32, stream: u32) -> f32 {   // in [0, 1): the PCG hash (Jarzynski and Olano 2020)
    let state = (row * 4u + stream) * 747796405u + 2891336453u;
    let word = ((state >> ((state >> 28u) + 4u)) ^ state) * 277803737u;
    return f32(((word >> 22u) ^ word) >> 8u) / 16777216.0;
}

fn put(row: u32, middle: vec3f, size: vec3f) {
    for (var k = 0u; k < 3u; k++) {
        bar_position[3u * row + k] = middle[k];
        bar_size[3u * row + k] = size[k];
    }
}

@compute @workgroup_size(64)
fn build(@builtin(global_invocation_id) id: vec3u) {
    let row = id.x;
    if row < 8u {
        let tank = vec3f(fields.length, fields.height, fields.width);
        let side = vec2f(f32(row & 1u), f32((row >> 1u) & 1u));
        let half = 0.5 * fields.bar;
        if row < 4u {
            let at = vec2f(-half) + side * (tank.xz + fields.bar);
            put(row, vec3f(at.x, 0.5 * tank.y, at.y), vec3f(half, 0.5 * tank.y, half));
        } else if row < 6u {
            put(row, vec3f(0.5 * tank.x, half, -half + side.x * (tank.z + fields.bar)), vec3f(0.5 * tank.x + fields.bar, half, half));
        } else {
            put(row, vec3f(-half + side.x * (tank.x + fields.bar), half, 0.5 * tank.z), vec3f(half, half, 0.5 * tank.z));
        }
    }
    if row < fields.containers * PIECES { build_container(row); }
}

fn build_container(row: u32) {
    let one = row / PIECES;
    let piece = row % PIECES;
    let level = one / COLUMNS;
    let shift = vec2f(random(one, 0u), random(one, 1u)) - 0.5;
    var middle = vec3f(f32(one % COLUMNS) * 6.6 - 26.0 + 0.7 * shift.x, (2.0 * f32(level) + 1.0) * HALF.y, -19.0 + 0.4 * shift.y);
    var half = HALF;
    if piece > 0u {
        middle += vec3f((f32(piece) / f32(PIECES) * 2.0 - 1.0) * HALF.x, 0.0, HALF.z);
        half = vec3f(0.06, HALF.y - 0.12, 0.05);
    }
    half *= select(1.0, 0.0, level > 0u && random(one, 2u) < 0.4);
    let color = PAINTS[u32(5.0 * random(one, 3u))] * select(0.92, 1.0, piece == 0u);
    for (var k = 0u; k < 3u; k++) {
        container_position[3u * row + k] = middle[k];
        container_size[3u * row + k] = half[k];
        container_color[3u * row + k] = color[k];
    }
}
