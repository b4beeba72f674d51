// A row of numbers, or several, as bars: boxes that stand on the plane y = 0, or hang from it.
// In: DTYPE, the values' element type; values (rows, columns) by strides.
// Out: positions and normals (rows, columns, 24, 3), y up, the first row at the back: the corners of each face of each
//      box, counter-clockwise viewed from outside; levels (rows, columns, 24), the value of the bar.
// The reference implementation is in app/vertigrad/models/data/bars.py.
//% if DTYPE == "f16"
enable f16;
//% endif
//% include "common/index.wgsl"

struct Params {
    rows: u32,
    columns: u32,
    values_offset: u32,
    values_strides: vec2i,
    step: f32,
    width: f32,
    height: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> values: array<${DTYPE}>;
@group(0) @binding(2) var<storage, read_write> positions: array<f32>;
@group(0) @binding(3) var<storage, read_write> normals: array<f32>;
@group(0) @binding(4) var<storage, read_write> levels: array<f32>;

fn axis(number: u32) -> vec3f {
    return vec3f(f32(number == 0u), f32(number == 1u), f32(number == 2u));
}

@compute @workgroup_size(128)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= 24u * params.rows * params.columns {
        return;
    }
    let bar = i / 24u;
    let face = i % 24u / 4u;
    let corner = i % 4u;
    let row = bar / params.columns;
    let column = bar % params.columns;

    let at = i32(params.values_offset) + i32(row) * params.values_strides.x + i32(column) * params.values_strides.y;
    let value = f32(values[u32(at)]);

    let outward = select(-1.0, 1.0, face % 2u == 1u);
    let across = select(-1.0, 1.0, corner == 1u || corner == 2u) * outward;
    let along = select(-1.0, 1.0, corner >= 2u);
    let side = face / 2u;
    let normal = outward * axis(side);
    let unit = normal + across * axis((side + 1u) % 3u) + along * axis((side + 2u) % 3u);

    let middle = 0.5 * vec2f(f32(params.columns - 1u), f32(params.rows - 1u));
    let foot = (vec2f(f32(column), f32(row)) - middle) * params.step;
    let half = 0.5 * vec3f(params.width, abs(value * params.height), params.width);
    let point = vec3f(foot.x, 0.5 * value * params.height, foot.y) + half * unit;
    for (var n = 0u; n < 3u; n++) {
        positions[3u * i + n] = point[n];
        normals[3u * i + n] = normal[n];
    }
    levels[i] = value;
}
