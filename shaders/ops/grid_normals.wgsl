// Unit normals of a grid of points.
// In: positions (rows, columns, 3). Out: normals (rows, columns, 3), both f32 with any strides.
// The formula is in app/vertigrad/ops/grid.py.
//% include "common/index.wgsl"

struct Params {
    rows: u32,
    columns: u32,
    positions_offset: u32,
    normals_offset: u32,
    positions_strides: vec3i,
    normals_strides: vec3i,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> positions: array<f32>;
@group(0) @binding(2) var<storage, read_write> normals: array<f32>;

fn position(row: u32, column: u32) -> vec3f {
    let strides = params.positions_strides;
    let at = i32(params.positions_offset) + i32(row) * strides.x + i32(column) * strides.y;
    return vec3f(positions[u32(at)], positions[u32(at + strides.z)], positions[u32(at + 2 * strides.z)]);
}

@compute @workgroup_size(128)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.rows * params.columns {
        return;
    }
    let row = i / params.columns;
    let column = i % params.columns;
    let east = position(row, min(column + 1u, params.columns - 1u)) - position(row, max(column, 1u) - 1u);
    let south = position(min(row + 1u, params.rows - 1u), column) - position(max(row, 1u) - 1u, column);
    // scaled first: squares of the lengths of a fine grid's edges would be lost in f32
    let normal = cross(south / largest(south), east / largest(east));
    let squared = dot(normal, normal);
    let unit = select(normal * inverseSqrt(squared), vec3f(0.0, 1.0, 0.0), squared == 0.0);
    let strides = params.normals_strides;
    let at = i32(params.normals_offset) + i32(row) * strides.x + i32(column) * strides.y;
    normals[u32(at)] = unit.x;
    normals[u32(at + strides.z)] = unit.y;
    normals[u32(at + 2 * strides.z)] = unit.z;
}

fn largest(v: vec3f) -> f32 {
    return max(max(abs(v.x), max(abs(v.y), abs(v.z))), 1e-37);
}
