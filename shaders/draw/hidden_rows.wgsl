// Positions of rows, of which the hidden ones become NaN: no layer draws those.
// In: positions (rows, 3) with a stride; hidden (rows), not 0 where a row is hidden. Out: visible (rows, 3).
//% include "common/index.wgsl"

struct Params {
    rows: u32,
    nan: u32,               // its bits: as a constant, WGSL has none
    positions_offset: u32,
    positions_strides: u32, // elements from one row to the next
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> positions: array<f32>;
@group(0) @binding(2) var<storage, read> hidden: array<u32>;
@group(0) @binding(3) var<storage, read_write> visible: array<f32>;

@compute @workgroup_size(128)
fn hide(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let row = linear_index(id, num_workgroups, 128u);
    if row >= params.rows { return; }
    for (var i = 0u; i < 3u; i++) {
        let value = positions[params.positions_offset + row * params.positions_strides + i];
        visible[3u * row + i] = select(value, bitcast<f32>(params.nan), hidden[row] != 0u);
    }
}
