// The smallest and the largest of many numbers, for the two ends of a colormap. NaN and infinities are passed over.
// `gather` reduces the values to one pair for each workgroup, `finish` those pairs to one; `reduce_few` does it alone for a few.
// In: TYPE, the type of the values. Out: extent[0] <= extent[1]; (0, 1) if there was no finite number. Where `symmetric` is not 0,
// it is (-m, m) with the largest magnitude m, and (-1, 1) if there was none.
//% include "common/widest.wgsl"

struct Params {
    shape: vec3u,           // of the values along three axes; before them 1s
    count: u32,             // of values, or of pairs
    values_strides: vec3i,  // elements from one value to the next along each axis
    values_offset: u32,     // elements
    symmetric: u32,
    first_pair: u32,        // of `gather`: the index of the pair of its first workgroup
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> values: array<${TYPE}>;
@group(0) @binding(2) var<storage, read_write> pairs: array<vec2f>;
@group(0) @binding(3) var<storage, read_write> extent: array<vec2f>;

fn element_of(i: u32) -> i32 {
    let row = i / params.shape.z;
    let at = vec3u(row / params.shape.y, row % params.shape.y, i % params.shape.z);
    let offsets = vec3i(at) * params.values_strides;
    return i32(params.values_offset) + offsets.x + offsets.y + offsets.z;
}

// Of every `step`th value from one on.
fn widest_of_own(first: u32, step: u32) -> vec2f {
    var mine = EMPTY_RANGE;
    for (var i = first; i < params.count; i += step) {
        mine = with_value(mine, f32(values[element_of(i)]));
    }
    return mine;
}

fn store(all: vec2f, lane: u32) {
    if lane != 0u { return; }
    let largest = select(max(abs(all.x), abs(all.y)), 1.0, all.x > all.y);
    let ends = select(vec2f(0.0, 1.0), all, all.x <= all.y);
    extent[0] = select(ends, vec2f(-largest, largest), params.symmetric != 0u);
}

@compute @workgroup_size(${WORKGROUP})
fn gather(
    @builtin(global_invocation_id) id: vec3u,
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
) {
    let all = widest(widest_of_own(id.x, groups.x * ${WORKGROUP}u), lane);
    if lane == 0u { pairs[params.first_pair + group.x] = all; }
}

@compute @workgroup_size(${WORKGROUP})
fn reduce_few(@builtin(local_invocation_index) lane: u32) {
    store(widest(widest_of_own(lane, ${WORKGROUP}u), lane), lane);
}

@compute @workgroup_size(${WORKGROUP})
fn finish(@builtin(local_invocation_index) lane: u32) {
    var mine = EMPTY_RANGE;
    for (var i = lane; i < params.count; i += ${WORKGROUP}u) { mine = wider(mine, pairs[i]); }
    store(widest(mine, lane), lane);
}
