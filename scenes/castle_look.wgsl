// How a material point model of sand and water is drawn: water as a liquid, each row of sand as a few grains, and the
// tank around both.

struct Fields {
    count: u32, grains: u32, sand_rows: u32, grain: f32, drop: f32, spread: f32, loosening: f32,
    bar: f32, length: f32, width: f32,
}
@group(0) @binding(0) var<uniform> fields: Fields;
@group(0) @binding(1) var<storage, read> material: array<u32>;              // 0: water
@group(0) @binding(2) var<storage, read> position: array<f32>;
@group(0) @binding(3) var<storage, read> color: array<f32>;
@group(0) @binding(4) var<storage, read_write> drop_size: array<f32>;
@group(0) @binding(5) var<storage, read_write> grain_position: array<f32>;  // of `grains` for each of the last rows
@group(0) @binding(6) var<storage, read_write> grain_color: array<f32>;
@group(0) @binding(7) var<storage, read_write> grain_size: array<f32>;
@group(0) @binding(8) var<storage, read_write> bar_position: array<f32>;
@group(0) @binding(9) var<storage, read_write> bar_size: array<f32>;
@group(0) @binding(10) var<storage, read_write> table: array<f32>;
@group(0) @binding(11) var<storage, read_write> shelf: array<f32>;
@group(0) @binding(12) var<storage, read_write> crowd: array<atomic<u32>>;  // rows of sand in each cell, x first
@group(0) @binding(13) var<storage, read_write> loose: array<f32>;          // 0: packed, 1: alone

// Steps of a sequence that fills a cube evenly (Roberts 2018, "The unreasonable effectiveness of quasirandom sequences").
const STEPS = vec3f(0.8191725, 0.6710436, 0.5497005);

const SHELF = vec2f(-0.4, 0.159);     // middle of the part of it that is in the tank [m]
const TOP = vec2f(0.348, -0.0262);    // its surface: height [m] at x = 0, and slope
const EDGE = 0.61;                    // where it ends [m]
const CELLS = vec3i(70, 28, 33);      // of `crowd`
const CELL = 0.04;                    // [m]: twelve rows of packed sand
const ALONE = 1.0;                    // rows in a cell, of sand that is as loose as it gets
const PACKED = 2.5;                   // and of what is still a heap
const PACE = 0.08;                    // of each step, so that no grain jumps

@compute @workgroup_size(64)
fn pour(@builtin(global_invocation_id) id: vec3u) {
    if id.x < fields.count { drop_size[id.x] = select(0.0, fields.drop, material[id.x] == 0u); }
}

@compute @workgroup_size(64)
fn clear(@builtin(global_invocation_id) id: vec3u) {
    if id.x < arrayLength(&crowd) { atomicStore(&crowd[id.x], 0u); }
}

fn position_of(row: u32) -> vec3f {
    return vec3f(position[3u * row], position[3u * row + 1u], position[3u * row + 2u]);
}

// A position counted in cells, from the corner of the tank.
fn in_cells(at: vec3f) -> vec3f {
    return (at + 0.5 * vec3f(fields.length, 0.0, fields.width)) / CELL;
}

fn cell_number(cell: vec3i) -> u32 {
    let inner = clamp(cell, vec3i(0), CELLS - 1);
    return u32((inner.z * CELLS.y + inner.y) * CELLS.x + inner.x);
}

@compute @workgroup_size(64)
fn count(@builtin(global_invocation_id) id: vec3u) {
    let row = fields.count - fields.sand_rows + id.x;
    if id.x >= fields.sand_rows || material[row] == 0u { return; }
    atomicAdd(&crowd[cell_number(vec3i(floor(in_cells(position_of(row)))))], 1u);
}

// The grains of a row fill the space that it has: where few others are near, they are no clusters.
@compute @workgroup_size(64)
fn loosen(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= fields.sand_rows { return; }
    let at = in_cells(position_of(fields.count - fields.sand_rows + id.x)) - 0.5;
    let low = floor(at);
    var near = 0.0;
    for (var corner = 0; corner < 8; corner++) {
        let offset = vec3i(corner & 1, (corner >> 1) & 1, corner >> 2);
        let weights = select(1.0 - (at - low), at - low, offset == vec3i(1));
        near += weights.x * weights.y * weights.z * f32(atomicLoad(&crowd[cell_number(vec3i(low) + offset)]));
    }
    loose[id.x] += PACE * (1.0 - smoothstep(ALONE, PACKED, near) - loose[id.x]);
}

// What is below a position: the shelf, or the bed.
fn ground(x: f32) -> f32 {
    return select(0.0, TOP.x + TOP.y * x, x < EDGE);
}

@compute @workgroup_size(16, 4)
fn scatter(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= fields.sand_rows || id.y >= fields.grains { return; }
    let grain = id.x * fields.grains + id.y;
    let row = fields.count - fields.sand_rows + id.x;
    let middle = position_of(row);
    let spread = fields.spread * (1.0 + fields.loosening * loose[id.x]);
    var offset = spread * (fract(STEPS * f32(grain % 65536u)) - 0.5);
    let height = max(middle.y - ground(middle.x), 0.0);
    offset.y = clamp(offset.y, -height, height);        // what lies on the ground lies there with all its grains
    let side = 0.5 * vec2f(fields.length, fields.width) - fields.grain;
    let beside = clamp((middle + offset).xz, -side, side);
    let at = vec3f(beside.x, middle.y + offset.y, beside.y);
    for (var k = 0u; k < 3u; k++) {
        grain_position[3u * grain + k] = at[k];
        grain_color[3u * grain + k] = color[3u * row + k];
    }
    grain_size[grain] = select(fields.grain, 0.0, material[row] == 0u);
}

// The rim around the bed of the tank; the table under it, and the shelf inside.
@compute @workgroup_size(8)
fn frame(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= 4u { return; }
    let across = id.x >= 2u;
    let tank = vec3f(fields.length, 0.0, fields.width);
    let side = f32(id.x & 1u) - 0.5;
    let middle = select(vec3f(0.0, 0.0, side), vec3f(side, 0.0, 0.0), across) * (tank + fields.bar);
    let size = select(vec3f(tank.x + 2.0 * fields.bar, fields.bar, fields.bar), vec3f(fields.bar, fields.bar, tank.z), across);
    for (var k = 0u; k < 3u; k++) {
        bar_position[3u * id.x + k] = middle[k];
        bar_size[3u * id.x + k] = size[k];
    }
    if id.x == 0u {
        table[1] = -0.02;
        shelf[0] = SHELF.x;
        shelf[1] = SHELF.y;
    }
}
