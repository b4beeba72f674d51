// Elements picked along one axis by indices from another tensor; indices below 0 count from the end.
// In: DTYPE of source and out; INDEX, the dtype of the indices; RANK, the number of axes of the result, at most 8.
// Out: out[i] = source[.., index[i], ..] for each of params.count elements; where the index is outside of the axis, NaN
//     if they are floats, 0 or false if not.
//% import "common/element.wgsl" as element
//% import "common/index.wgsl" as index
//% if DTYPE == "f16"
enable f16;
//% endif
//% include "common/index.wgsl"

struct Params {
    count: u32,
    out_offset: u32,
    source_offset: u32,
    indices_offset: u32,
    axis_size: u32,
    axis_stride: i32,
    missing: u32,  // the bits that stand for an element that is not there
    shape: array<vec4u, 2>,
    out_strides: array<vec4i, 2>,
    source_strides: array<vec4i, 2>,
    indices_strides: array<vec4i, 2>,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> out: ${element.storage(DTYPE, DTYPE == "u8")};
@group(0) @binding(2) var<storage, read> source: ${element.storage(DTYPE)};
@group(0) @binding(3) var<storage, read> indices: ${element.storage(INDEX)};

@compute @workgroup_size(128)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.count {
        return;
    }
    ${index.walk("i", RANK, ["out", "source", "indices"])}
    var index_here = u32(${element.load("indices", INDEX, "u32(indices_at)")});
    //% if INDEX == "i32"
    index_here += select(0u, params.axis_size, index_here >= 0x80000000u);
    //% endif
    var value = ${element.value_type(DTYPE)}(${ {"f32": "bitcast<f32>(params.missing)", "f16": "bitcast<f32>(params.missing)", "f64": "bitcast<f32>(params.missing)"}.get(DTYPE, "0") });
    if index_here < params.axis_size {
        source_at += i32(index_here) * params.axis_stride;
        value = ${element.load("source", DTYPE, "u32(source_at)")};
    }
    ${element.store("out", DTYPE, "u32(out_at)", "value")}
}
