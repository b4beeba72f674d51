// The cells of a grid that a surface of one value passes through, and the size of the draw that shows them.
// `begin` empties the list, `find` fills it, in an order that may be another each time. A cell with a sample that is no
// finite number is passed over.
// In: samples. Out: cells[i], the index of a cell, x fastest, and in the upper eight bits which of its corners
// are below the level; draw: vertices, instances, first vertex, first instance, with VERTICES for each cell.
//% import "common/field.wgsl" as field
//% include "common/field.wgsl"
//% include "common/index.wgsl"

struct Params {
    values_size: vec3u,
    values_offset: u32,
    values_strides: vec3i,
    level: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> values: array<f32>;
@group(0) @binding(2) var<storage, read_write> cells: array<u32>;
@group(0) @binding(3) var<storage, read_write> draw: array<atomic<u32>>;

var<workgroup> found: atomic<u32>;
var<workgroup> first: u32;

${field.functions("values", "params.values_size", "params.values_offset", "params.values_strides")}

@compute @workgroup_size(1)
fn begin() {
    atomicStore(&draw[0], 0u);
    atomicStore(&draw[1], 1u);
    atomicStore(&draw[2], 0u);
    atomicStore(&draw[3], 0u);
}

// The corners below the level; all or none of them if the cell is passed over.
fn corners_below(cell: vec3i) -> u32 {
    var below = 0u;
    var whole = true;
    for (var corner = 0; corner < 8; corner++) {
        let value = values_at(cell + vec3i(corner & 1, (corner >> 1) & 1, corner >> 2));
        below |= select(0u, 1u << u32(corner), value < params.level);
        whole = whole && is_finite(value);
    }
    return select(0u, below, whole);
}

@compute @workgroup_size(128)
fn find(
    @builtin(global_invocation_id) id: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = linear_index(id, num_workgroups, 128u);
    let size = params.values_size - 1u;
    if lane == 0u { atomicStore(&found, 0u); }
    workgroupBarrier();
    var below = 0u;
    if i < size.x * size.y * size.z {
        below = corners_below(vec3i(vec3u(i % size.x, (i / size.x) % size.y, i / (size.x * size.y))));
    }
    var rank = 0u;
    let cut = below != 0u && below != 255u;
    if cut { rank = atomicAdd(&found, 1u); }
    workgroupBarrier();
    if lane == 0u { first = atomicAdd(&draw[0], ${VERTICES}u * atomicLoad(&found)) / ${VERTICES}u; }
    workgroupBarrier();
    if cut { cells[first + rank] = i | (below << 24u); }
}
