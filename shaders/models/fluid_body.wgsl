// The surface of a solid, as a grid of params.rows x params.columns vertices with normals.
// Rows go from the middle of the underside to the middle of the top; columns go around it, the last one being the first.
// Where faces meet at an edge, there are rows or columns of both, so that each face has its own normal.
// Out: positions and normals (rows, columns, 3). Shapes as in common/obstacle.wgsl: 1 box, 2 sphere, 3 cylinder; 0 is a point.

struct Params {
    rows: u32,
    columns: u32,
    shape: u32,
    body_center: vec3f,
    body_half: vec3f,
    body_x: vec3f,  // its axes in the scene
    body_y: vec3f,
    body_z: vec3f,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> positions: array<f32>;
@group(0) @binding(2) var<storage, read_write> normals: array<f32>;

const TAU = 6.28318530718;

struct Vertex {
    away: vec3f,    // from the middle, in half sizes
    normal: vec3f,
}

// A point on the outline of the base, as x and z, and the normal there.
fn outline(column: u32) -> vec4f {
    if params.shape == 1u {
        let each = params.columns / 4u;
        let along = 2.0 * f32(column % each) / f32(each - 1u) - 1.0;
        switch column / each {
            case 0u: { return vec4f(1.0, along, 1.0, 0.0); }
            case 1u: { return vec4f(-along, 1.0, 0.0, 1.0); }
            case 2u: { return vec4f(-1.0, -along, -1.0, 0.0); }
            default: { return vec4f(along, -1.0, 0.0, -1.0); }
        }
    }
    let angle = TAU * f32(column) / f32(params.columns - 1u);
    let around = select(vec2f(cos(angle), sin(angle)), vec2f(1.0, 0.0), column == params.columns - 1u);
    return vec4f(around, around);
}

fn vertex(row: u32, column: u32) -> Vertex {
    let around = outline(column);
    if params.shape == 2u {
        let angle = 0.5 * TAU * f32(row) / f32(params.rows - 1u);
        let away = vec3f(sin(angle) * around.x, -cos(angle), sin(angle) * around.y);
        return Vertex(away, away);
    }
    let cap = params.rows / 4u;  // rows of the underside, and of the top
    if row < cap {
        let reach = f32(row) / f32(cap - 1u);
        return Vertex(vec3f(reach * around.x, -1.0, reach * around.y), vec3f(0.0, -1.0, 0.0));
    }
    if row >= params.rows - cap {
        let reach = f32(params.rows - 1u - row) / f32(cap - 1u);
        return Vertex(vec3f(reach * around.x, 1.0, reach * around.y), vec3f(0.0, 1.0, 0.0));
    }
    let height = 2.0 * f32(row - cap) / f32(params.rows - 2u * cap - 1u) - 1.0;
    return Vertex(vec3f(around.x, height, around.y), vec3f(around.z, 0.0, around.w));
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let i = id.x;
    if i >= params.rows * params.columns {
        return;
    }
    let point = vertex(i / params.columns, i % params.columns);
    var half = params.body_half;
    if params.shape != 1u {  // round: as wide along z as along x, and a ball as high
        half = vec3f(half.x, select(half.x, half.y, params.shape == 3u), half.x);
    }
    let axes = mat3x3f(params.body_x, params.body_y, params.body_z);
    let corner = params.body_center + axes * select(half * point.away, vec3f(0.0), params.shape == 0u);
    let normal = axes * point.normal;
    for (var c = 0u; c < 3u; c += 1u) {
        positions[3u * i + c] = corner[c];
        normals[3u * i + c] = normal[c];
    }
}
