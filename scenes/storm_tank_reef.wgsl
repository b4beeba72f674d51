// The reef of a wave tank as broken rock: stones over the faces of a block, one mesh that is turned and scaled for each.

struct Fields { across: u32, deep: u32, high: u32, stones: u32, sunk: f32, behind: f32 }
@group(0) @binding(0) var<uniform> fields: Fields;
@group(0) @binding(1) var<storage, read> body_position: array<f32>;     // of 4 bodies; the reef is row REEF
@group(0) @binding(2) var<storage, read> body_rotation: array<f32>;
@group(0) @binding(3) var<storage, read> body_size: array<f32>;         // half sizes
@group(0) @binding(4) var<storage, read_write> stone_vertex: array<f32>;    // 54 x 3: a cube of 3 x 3 x 3 vertices without its middle
@group(0) @binding(5) var<storage, read_write> stone_index: array<u32>;     // 48 x 3
@group(0) @binding(6) var<storage, read_write> stone_position: array<f32>;
@group(0) @binding(7) var<storage, read_write> stone_rotation: array<f32>;
@group(0) @binding(8) var<storage, read_write> stone_size: array<f32>;
@group(0) @binding(9) var<storage, read_write> stone_color: array<f32>;

const REEF = 2u;
const ROCKS = array<vec3f, 3>(vec3f(0.30, 0.29, 0.27), vec3f(0.24, 0.25, 0.25), vec3f(0.36, 0.33, 0.28));
const WEED = vec3f(0.13, 0.17, 0.09);

fn random(row: u32, stream: u32) -> f32 {   // in [0, 1): the PCG hash (Jarzynski and Olano 2020)
    let state = (row * 16u + stream) * 747796405u + 2891336453u;
    let word = ((state >> ((state >> 28u) + 4u)) ^ state) * 277803737u;
    return f32(((word >> 22u) ^ word) >> 8u) / 16777216.0;
}

fn rotated(v: vec3f, q: vec4f) -> vec3f {
    return v + 2.0 * cross(q.xyz, cross(q.xyz, v) + q.w * v);
}

// The mesh: a ball whose vertices are pushed in and out.
@compute @workgroup_size(64)
fn shape(@builtin(global_invocation_id) id: vec3u) {
    if id.x < 54u {
        let face = id.x / 9u;
        let axis = face / 2u;
        var at = vec3f(0.0);
        at[axis] = f32(face % 2u) * 2.0 - 1.0;
        at[(axis + 1u) % 3u] = f32(id.x % 3u) - 1.0;
        at[(axis + 2u) % 3u] = f32(id.x / 3u % 3u) - 1.0;
        let key = u32(dot(at + 1.0, vec3f(1.0, 3.0, 9.0)));      // faces share their edges
        let found = normalize(at) * (0.8 + 0.45 * random(key, 0u));
        for (var k = 0u; k < 3u; k++) { stone_vertex[3u * id.x + k] = found[k]; }
    }
    if id.x < 48u {
        let face = id.x / 8u;
        let cell = id.x / 2u % 4u;
        let first = 9u * face + cell % 2u + 3u * (cell / 2u);
        var corners = select(vec3u(0u, 1u, 4u), vec3u(0u, 4u, 3u), id.x % 2u == 1u);
        if face % 2u == 0u { corners = corners.xzy; }
        for (var k = 0u; k < 3u; k++) { stone_index[3u * id.x + k] = first + corners[k]; }
    }
}

// Stones on the top, then on the side toward +z, then on the end toward -x.
@compute @workgroup_size(64)
fn pile(@builtin(global_invocation_id) id: vec3u) {
    let row = id.x;
    if row >= fields.stones { return; }
    let top = fields.across * fields.deep;
    let side = top + fields.across * fields.high;
    let jitter = vec2f(random(row, 0u), random(row, 1u)) - 0.5;
    var place = vec3f(0.0);
    if row < top {
        let cell = (vec2f(vec2u(row % fields.across, row / fields.across)) + 0.5 + 0.7 * jitter) / vec2f(vec2u(fields.across, fields.deep));
        place = vec3f(2.0 * cell.x - 1.0, 1.0, 2.0 * cell.y - 1.0);
    } else if row < side {
        let one = row - top;
        let cell = (vec2f(vec2u(one % fields.across, one / fields.across)) + 0.5 + 0.7 * jitter) / vec2f(vec2u(fields.across, fields.high));
        place = vec3f(2.0 * cell.x - 1.0, 2.0 * cell.y - 1.0, 1.0);
    } else {
        let one = row - side;
        let cell = (vec2f(vec2u(one % fields.deep, one / fields.deep)) + 0.5 + 0.7 * jitter) / vec2f(vec2u(fields.deep, fields.high));
        place = vec3f(-1.0, 2.0 * cell.y - 1.0, 2.0 * cell.x - 1.0);
    }
    let half = vec3f(body_size[3u * REEF], body_size[3u * REEF + 1u], body_size[3u * REEF + 2u]);
    let middle = vec3f(body_position[3u * REEF], body_position[3u * REEF + 1u], body_position[3u * REEF + 2u]);
    let turn = vec4f(body_rotation[4u * REEF], body_rotation[4u * REEF + 1u], body_rotation[4u * REEF + 2u], body_rotation[4u * REEF + 3u]);
    let at = middle + rotated(place * (half - vec3f(fields.sunk, fields.sunk, fields.behind)), turn);
    let spacing = 2.0 * half.x / f32(fields.across);
    let radius = spacing * (0.7 + 0.5 * random(row, 2u));
    var axis = vec4f(random(row, 3u), random(row, 4u), random(row, 5u), random(row, 6u)) - 0.5;
    axis = normalize(axis + vec4f(0.0, 0.0, 0.0, 1e-3));
    let rock = ROCKS[u32(3.0 * random(row, 7u))] * (0.75 + 0.5 * random(row, 8u));
    let color = mix(rock, WEED, 0.6 * smoothstep(0.55, 0.95, random(row, 9u)));
    for (var k = 0u; k < 3u; k++) {
        stone_position[3u * row + k] = at[k];
        stone_size[3u * row + k] = radius * (0.75 + 0.4 * random(row, 10u + k));
        stone_color[3u * row + k] = color[k];
    }
    for (var k = 0u; k < 4u; k++) { stone_rotation[4u * row + k] = axis[k]; }
}
