// Rows in another order.
// In: order, which row comes where; rows of params.width words.
// Out: out[i] = source[order[i]]; rows that are not there are left as they are.
//% include "common/index.wgsl"

struct Params {
    rows: u32,
    width: u32,
    available: u32,
    order_offset: u32,
    source_offset: u32,
    out_offset: u32,
    source_strides: vec2i,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> order: array<u32>;
@group(0) @binding(2) var<storage, read> source: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 256u);
    if i >= params.rows * params.width {
        return;
    }
    let row = order[params.order_offset + i / params.width];
    if row < params.available {
        let at = i32(row) * params.source_strides.x + i32(i % params.width) * params.source_strides.y;
        out[params.out_offset + i] = source[u32(i32(params.source_offset) + at)];
    }
}
