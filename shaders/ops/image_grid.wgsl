// The channels of a tensor side by side in one image. A workgroup has a chunk of a cell: of a channel and the gaps right of
// and below it; in the last row some cells may have no channel.
// In: PASS: "ranges" finds the least and the greatest finite value of each chunk, of all tensors, multiplied by SMALLER,
//     "image" writes the pixels;
//     SCALE: "" writes values as they are; "alone" scales each channel from its range to 0 to 1, which the one workgroup
//     of the channel finds itself; "pairs" does so by the ranges of its chunks;
//     SOURCES, names and dtypes of what is read: `source`, and others whose values count in the ranges.
// Out: `pairs`, the ranges of the chunks, or the image. Values that are not finite remain so.
//% import "common/element.wgsl" as element
//% if "f16" in (SOURCES | map("last"))
enable f16;
//% endif
//% set WORKGROUP = 256
//% include "common/widest.wgsl"

// Of values before their range is found: differences do not overflow, and none is beyond 2^126, by which GPUs divide
// inexactly. Of the ends of a range it would be too late: it may be taken out of their difference, which then overflows.
const SMALLER = 0.0625;

struct Params {
    channels: u32,
    count: u32,  // elements of a channel
    width: u32,  // of them in a row
    chunk: u32,  // elements or pixels of a workgroup
    chunks: u32,  // of a cell
    //% if PASS == "image"
    cells: u32,
    columns: u32,  // cells in a row
    cell: vec2u,  // its width and height
    gap: u32,  // bits of its pixels without an element
    //% endif
    //% for name, _ in SOURCES
    ${name}_offset: u32,
    ${name}_strides: vec3i,  // elements from one channel, row and column to the next
    //% endfor
    //% if PASS == "image"
    out_offset: u32,
    //% endif
}

@group(0) @binding(0) var<uniform> params: Params;
//% for name, dtype in SOURCES
@group(0) @binding(${2 + loop.index}) var<storage, read> ${name}: ${element.storage(dtype)};
//% endfor
//% if PASS == "ranges"
@group(0) @binding(1) var<storage, read_write> pairs: array<vec2f>;
//% else
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
//% if SCALE == "pairs"
@group(0) @binding(2) var<storage, read> pairs: array<vec2f>;
//% endif
//% endif

//% for name, dtype in SOURCES
fn ${name}_value(channel: u32, i: u32) -> f32 {
    let steps = vec3i(vec3u(channel, i / params.width, i % params.width)) * params.${name}_strides;
    let at = u32(i32(params.${name}_offset) + steps.x + steps.y + steps.z);
    return f32(${element.load(name, dtype, "at")});
}
//% endfor

fn range_of(channel: u32, begin: u32, end: u32, lane: u32) -> vec2f {
    var mine = EMPTY_RANGE;
    for (var i = begin + lane; i < end; i += ${WORKGROUP}u) {
        //% for name, _ in SOURCES
        mine = with_value(mine, SMALLER * ${name}_value(channel, i));
        //% endfor
    }
    return widest(mine, lane);
}

//% if SCALE == "pairs"
fn range_of_chunks(channel: u32, lane: u32) -> vec2f {
    var mine = EMPTY_RANGE;
    for (var i = lane; i < params.chunks; i += ${WORKGROUP}u) {
        mine = wider(mine, pairs[channel * params.chunks + i]);
    }
    return widest(mine, lane);
}
//% endif

@compute @workgroup_size(${WORKGROUP})
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = group.y * num_workgroups.x + group.x;
    let channel = number / params.chunks;
    if channel >= ${"params.channels" if PASS == "ranges" else "params.cells"} {
        return;
    }
    let begin = number % params.chunks * params.chunk;
    //% if PASS == "ranges"
    let range = range_of(channel, begin, min(begin + params.chunk, params.count), lane);
    if lane == 0u { pairs[number] = range; }
    //% else
    let count = select(0u, params.count, channel < params.channels);
    //% if SCALE == "alone"
    _ = range_of(channel, 0u, count, lane);
    //% elif SCALE
    _ = range_of_chunks(min(channel, params.channels - 1u), lane);
    //% endif
    //% if SCALE
    let range = workgroupUniformLoad(&found[0]);
    let size = max(range.y - range.x, 1e-31);  // smaller differences are none
    //% endif
    let corner = vec2u(channel % params.columns, channel / params.columns) * params.cell;
    let end = min(begin + params.chunk, params.cell.x * params.cell.y);
    for (var i = begin + lane; i < end; i += ${WORKGROUP}u) {
        let inner = vec2u(i % params.cell.x, i / params.cell.x);
        let pixel = corner + inner;
        let at = params.out_offset + pixel.y * params.columns * params.cell.x + pixel.x;
        let element = inner.y * params.width + inner.x;
        if inner.x >= params.width || element >= count {
            out[at] = bitcast<f32>(params.gap);
            continue;
        }
        let value = source_value(channel, element);
        //% if SCALE
        let finite = (bitcast<u32>(value) & 0x7f800000u) != 0x7f800000u;
        out[at] = select(value, (SMALLER * value - range.x) / size, finite);
        //% else
        out[at] = value;
        //% endif
    }
    //% endif
}
