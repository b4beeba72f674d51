// The cell of each point of a uniform grid.
// In: GRID_WRAPS, see common/grid.wgsl; AXES, 2 or 3: coordinates of a point.
// Out: keys[i], the number of the cell of positions[i].
//% import "common/grid.wgsl" as grid with context
//% include "common/index.wgsl"

struct Params {
    count: u32,
    positions_offset: u32,
    keys_offset: u32,
    positions_strides: vec2i,
    ${grid.fields()}
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> positions: array<f32>;
@group(0) @binding(2) var<storage, read_write> keys: array<u32>;

//% include "common/grid.wgsl"

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 256u);
    if i >= params.count {
        return;
    }
    let at = i32(params.positions_offset) + i32(i) * params.positions_strides.x;
    let step = params.positions_strides.y;
    let z = ${"positions[u32(at + 2 * step)]" if AXES == 3 else "params.grid_low.z"};
    let here = vec3f(positions[u32(at)], positions[u32(at + step)], z);
    keys[params.keys_offset + i] = grid_bucket(grid_cell(here));
}
