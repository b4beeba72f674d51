// Chosen rows moved together, and how many they are.
// In: RANK, the number of axes of source (at most 8); INDICES, whether the indices of the rows are written instead (then
//     an entry of source is a row). ordinals[i] is how many rows up to and including i are chosen: chosen are those
//     where it rises.
// Out: compacted[ordinals[i] - 1] = row i of params.width words, or its index along each of the params.axes axes;
//     count[0].
//% import "common/index.wgsl" as index
//% include "common/index.wgsl"

struct Params {
    rows: u32,
    width: u32,  // words of a row; 1 for indices
    ordinals_offset: u32,
    compacted_offset: u32,
    count_offset: u32,
    //% if INDICES
    axes: u32,
    //% else
    source_offset: u32,
    source_strides: array<vec4i, 2>,
    //% endif
    shape: array<vec4u, 2>,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> ordinals: array<u32>;
@group(0) @binding(2) var<storage, read_write> compacted: array<u32>;
@group(0) @binding(3) var<storage, read_write> count: array<u32>;
//% if not INDICES
@group(0) @binding(4) var<storage, read> source: array<u32>;
//% endif

fn ordinal(row: u32) -> u32 {
    return ordinals[params.ordinals_offset + row];
}

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 256u);
    let width = max(params.width, 1u);
    if i == 0u {
        count[params.count_offset] = select(0u, ordinal(max(params.rows, 1u) - 1u), params.rows > 0u);
    }
    if i >= params.rows * params.width {
        return;
    }
    let row = i / width;
    let mine = ordinal(row);
    if mine == select(0u, ordinal(max(row, 1u) - 1u), row > 0u) {
        return;
    }
    //% if INDICES
    let first = params.compacted_offset + (mine - 1u) * params.axes;
    var rest = i;
    for (var axis = params.axes; axis > 0u; axis -= 1u) {
        let size = params.shape[(axis - 1u) / 4u][(axis - 1u) % 4u];
        compacted[first + axis - 1u] = rest % size;
        rest = rest / size;
    }
    //% else
    ${index.walk("i", RANK, ["source"])}
    compacted[params.compacted_offset + (mine - 1u) * width + i % width] = source[u32(source_at)];
    //% endif
}
