// How the bodies of a wave tank are drawn: crates as planks between beams, paddle and reef as blocks; on the latter are stones.

struct Fields { planks: u32, beam: f32, gap: f32 }
@group(0) @binding(0) var<uniform> fields: Fields;
@group(0) @binding(1) var<storage, read> body_size: array<f32>;             // 4 x 3; the last model of the chain is first
@group(0) @binding(2) var<storage, read_write> crate_size: array<f32>;      // of the crates, the first two; else 0
@group(0) @binding(3) var<storage, read_write> wall_size: array<f32>;       // of the others
@group(0) @binding(4) var<storage, read_write> wall_color: array<f32>;
@group(0) @binding(5) var<storage, read_write> beam_vertex: array<f32>;     // 12 boxes of 8 vertices
@group(0) @binding(6) var<storage, read_write> plank_vertex: array<f32>;    // 6 `planks` + 1
@group(0) @binding(7) var<storage, read_write> beam_index: array<u32>;
@group(0) @binding(8) var<storage, read_write> plank_index: array<u32>;

const WALLS = array<vec3f, 2>(vec3f(0.27, 0.30, 0.30), vec3f(0.80, 0.62, 0.20));   // reef, paddle

const SUNK = vec3f(0.07, 0.07, 0.13);      // of the reef's faces, below its stones [m]

struct Box { middle: vec3f, half: vec3f }

// Sizes of a body's two looks: each row is drawn by one of them.
@compute @workgroup_size(4)
fn divide(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= 4u { return; }
    let is_crate = id.x < 2u;
    for (var k = 3u * id.x; k < 3u * id.x + 3u; k++) {
        crate_size[k] = select(0.0, body_size[k], is_crate);
        wall_size[k] = select(body_size[k] - select(0.0, SUNK[k - 3u * id.x], id.x == 2u), 0.0, is_crate);
        wall_color[k] = WALLS[max(id.x, 2u) - 2u][k - 3u * id.x];
    }
}

// An edge of the cube from -1 to 1.
fn edge(number: u32) -> Box {
    let along = number / 4u;
    let side = vec2f(f32(number & 1u), f32((number >> 1u) & 1u)) * 2.0 - 1.0;
    var one = Box(vec3f(0.0), vec3f(1.0));
    for (var k = 1u; k < 3u; k++) {
        one.middle[(along + k) % 3u] = side[k - 1u] * (1.0 - fields.beam);
        one.half[(along + k) % 3u] = fields.beam;
    }
    return one;
}

// Boards side by side in each face, a little behind the beams; the first box is the dark inside.
fn plank(number: u32) -> Box {
    let inside = 1.0 - 1.4 * fields.beam;
    if number == 0u { return Box(vec3f(0.0), vec3f(inside)); }
    let face = (number - 1u) / fields.planks;
    let across = f32((number - 1u) % fields.planks);
    let axis = face / 2u;
    let wide = (1.0 - fields.beam) / f32(fields.planks);
    var one = Box(vec3f(0.0), vec3f(1.0 - fields.beam));
    one.middle[axis] = (f32(face & 1u) * 2.0 - 1.0) * (1.0 - 0.9 * fields.beam);
    one.half[axis] = 0.5 * fields.beam;
    let over = select(1u, 0u, axis == 1u);
    one.middle[over] = (2.0 * across + 1.0) * wide - (1.0 - fields.beam);
    one.half[over] = wide - fields.gap;
    return one;
}

fn corner(one: Box, number: u32) -> vec3f {
    return one.middle + one.half * (vec3f(vec3u(number, number >> 1u, number >> 2u) & vec3u(1u)) * 2.0 - 1.0);
}

// A vertex of the triangles of a box, counterclockwise from outside.
fn vertex_of(face: u32, number: u32) -> u32 {
    let axis = face / 2u;
    let front = face & 1u;
    let turn = array<vec2u, 6>(vec2u(0, 0), vec2u(1, 0), vec2u(1, 1), vec2u(0, 0), vec2u(1, 1), vec2u(0, 1))[number];
    let at = select(turn.yx, turn, front == 1u);
    return (front << axis) | (at.x << ((axis + 1u) % 3u)) | (at.y << ((axis + 2u) % 3u));
}

@compute @workgroup_size(64)
fn build(@builtin(global_invocation_id) id: vec3u) {
    let beams = 12u;
    let planks = 6u * fields.planks + 1u;
    if id.x >= beams + planks { return; }
    let is_beam = id.x < beams;
    let row = select(id.x - beams, id.x, is_beam);
    for (var i = 0u; i < 8u; i++) {
        let beam_at = corner(edge(min(row, 11u)), i);
        let plank_at = corner(plank(row), i);
        for (var k = 0u; k < 3u; k++) {
            if is_beam { beam_vertex[24u * row + 3u * i + k] = beam_at[k]; } else { plank_vertex[24u * row + 3u * i + k] = plank_at[k]; }
        }
    }
    for (var i = 0u; i < 36u; i++) {
        let number = 8u * row + vertex_of(i / 6u, i % 6u);
        if is_beam { beam_index[36u * row + i] = number; } else { plank_index[36u * row + i] = number; }
    }
}
