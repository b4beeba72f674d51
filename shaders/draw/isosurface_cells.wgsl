// The cells of a grid that a surface of one value passes through, and the size of the draw that shows them.
// `begin` empties the list, `find` fills it, in an order that may be another each time. A cell with a sample that is no
// finite number is passed over.
// In: samples; kinds, as draw/isosurface.wgsl has them. Out: draw: vertices, instances, first vertex, first instance; cells: how
// many have FEW vertices at most, nine of ten of them, and how many more, VERTICES at most. Then, from the third on, those with
// few, and from the end backwards the others: of each its index, x fastest, and in the upper eight bits which of its corners
// are below the level.
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
@group(0) @binding(2) var<storage, read_write> cells: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read_write> draw: array<atomic<u32>>;
@group(0) @binding(4) var<storage, read> kinds: array<u32>;

var<workgroup> found: array<atomic<u32>, 2>;    // cells with few vertices, and with more
var<workgroup> first: array<u32, 2>;

${field.functions("values", "params.values_size", "params.values_offset", "params.values_strides")}

@compute @workgroup_size(1)
fn begin() {
    atomicStore(&draw[0], 0u);
    atomicStore(&draw[1], 1u);
    atomicStore(&draw[2], 0u);
    atomicStore(&draw[3], 0u);
    atomicStore(&cells[0], 0u);
    atomicStore(&cells[1], 0u);
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
    let count = size.x * size.y * size.z;
    if lane < 2u { atomicStore(&found[lane], 0u); }
    workgroupBarrier();
    var below = 0u;
    if i < count {
        below = corners_below(vec3i(vec3u(i % size.x, (i / size.x) % size.y, i / (size.x * size.y))));
    }
    var rank = 0u;
    let cut = below != 0u && below != 255u;
    let more = u32(((kinds[2u * below + ${FEW // 8}u] >> ${FEW % 8 * 4}u) & 15u) != 15u);   // whether there is a vertex after FEW
    if cut { rank = atomicAdd(&found[more], 1u); }
    workgroupBarrier();
    if lane < 2u {
        let number = atomicLoad(&found[lane]);
        first[lane] = atomicAdd(&cells[lane], number);
        atomicAdd(&draw[0], number * select(${FEW}u, ${VERTICES}u, lane == 1u));
    }
    workgroupBarrier();
    let at = first[more] + rank;
    if cut { atomicStore(&cells[2u + select(at, count - 1u - at, more == 1u)], i | (below << 24u)); }
}
