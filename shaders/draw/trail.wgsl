// The positions of this moment put into the ring of past ones. In: TYPE, the type of the coordinates; positions, rows of
// three. Out: ring (slots, rows, 3), one slot of it.
//% include "common/index.wgsl"

struct Params {
    rows: u32,
    slot: u32,
    positions_offset: u32,
    positions_strides: u32, // elements from one row to the next
    ring_offset: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> positions: array<${TYPE}>;
@group(0) @binding(2) var<storage, read_write> ring: array<f32>;

@compute @workgroup_size(128)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let row = linear_index(id, num_workgroups, 128u);
    if row >= params.rows { return; }
    let at = params.positions_offset + row * params.positions_strides;
    let to = params.ring_offset + 3u * (params.slot * params.rows + row);
    for (var axis = 0u; axis < 3u; axis++) { ring[to + axis] = f32(positions[at + axis]); }
}
