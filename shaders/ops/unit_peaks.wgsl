// The largest magnitude of each unit of a tensor, its first axis here: as the bits of an f32, whose order is that of the
// numbers; those of NaN are above all others. A workgroup has a chunk of a unit.
// In: FROM, the dtype read: "f32" or "f16"; RANK, axes of the tensor. In and out: `peaks`, which only increase.
//% import "common/element.wgsl" as element
//% import "common/index.wgsl" as index
//% if FROM == "f16"
enable f16;
//% endif
//% set WORKGROUP = 256

struct Params {
    units: u32,
    count: u32,  // elements of a unit
    chunk: u32,
    chunks: u32,  // of a unit
    source_offset: u32,
    peaks_offset: u32,
    shape: array<vec4u, 2>,
    source_strides: array<vec4i, 2>,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> source: ${element.storage(FROM)};
@group(0) @binding(2) var<storage, read_write> peaks: array<atomic<u32>>;

var<workgroup> largest: atomic<u32>;

fn magnitude(number: u32) -> u32 {
    ${index.walk("number", RANK, ["source"])}
    return bitcast<u32>(f32(source[u32(source_at)])) & 0x7fffffffu;
}

@compute @workgroup_size(${WORKGROUP})
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = group.y * num_workgroups.x + group.x;
    let unit = number / params.chunks;
    if unit >= params.units {
        return;
    }
    let begin = number % params.chunks * params.chunk;
    let end = min(begin + params.chunk, params.count);
    if lane == 0u { atomicStore(&largest, 0u); }
    var mine = 0u;
    for (var i = begin + lane; i < end; i += ${WORKGROUP}u) {
        mine = max(mine, magnitude(unit * params.count + i));
    }
    workgroupBarrier();
    atomicMax(&largest, mine);
    workgroupBarrier();
    if lane == 0u {
        atomicMax(&peaks[params.peaks_offset + unit], atomicLoad(&largest));
    }
}
