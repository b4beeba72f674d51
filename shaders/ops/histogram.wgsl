// How many elements fall into each of params.bins bins. Elements outside of all bins, and NaN, count nowhere.
// In: DTYPE of source; RANK of source, at most 8; VALUES, whether bins part the range from params.low to params.high
//     evenly, the last one closed (else an element is the number of its bin); SHARED, whether a workgroup has room for all
//     bins.
// Out: counts, to which is added: they are cleared before.
//% import "common/element.wgsl" as element
//% import "common/index.wgsl" as index
//% if DTYPE == "f16"
enable f16;
//% endif
//% include "common/index.wgsl"
//% set EACH = 16

struct Params {
    count: u32,
    bins: u32,
    low: f32,
    high: f32,
    scale: f32,  // bins over the width of the range
    counts_offset: u32,
    source_offset: u32,
    shape: array<vec4u, 2>,
    source_strides: array<vec4i, 2>,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> source: ${element.storage(DTYPE)};
@group(0) @binding(2) var<storage, read_write> counts: array<atomic<u32>>;

//% if SHARED
var<workgroup> tally: array<atomic<u32>, ${SHARED}>;
//% endif

// The bin of an element; params.bins if there is none.
//% if VALUES
fn bin_of(x: f32) -> u32 {
    if !(x >= params.low && x <= params.high) {
        return params.bins;
    }
    return min(u32((x - params.low) * params.scale), params.bins - 1u);
}
//% else
fn bin_of(x: u32) -> u32 {
    return min(x, params.bins);  // below 0 is far above
}
//% endif

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let first = (group.y * num_workgroups.x + group.x) * ${256 * EACH}u;
    //% if SHARED
    for (var b = lane; b < params.bins; b += 256u) {
        atomicStore(&tally[b], 0u);
    }
    workgroupBarrier();
    //% endif
    for (var k = 0u; k < ${EACH}u; k += 1u) {
        let i = first + k * 256u + lane;
        if i < params.count {
            ${index.walk("i", RANK, ["source"])}
            let bin = bin_of(${"f32" if VALUES else "u32"}(${element.load("source", DTYPE, "u32(source_at)")}));
            if bin < params.bins {
                atomicAdd(&${"tally[bin]" if SHARED else "counts[params.counts_offset + bin]"}, 1u);
            }
        }
    }
    //% if SHARED
    workgroupBarrier();
    for (var b = lane; b < params.bins; b += 256u) {
        let many = atomicLoad(&tally[b]);
        if many > 0u {
            atomicAdd(&counts[params.counts_offset + b], many);
        }
    }
    //% endif
}
