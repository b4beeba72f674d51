// What the kernels of convolution share: operands, and the positions of the windows. For the values, see ops/conv.wgsl.
//% import "common/element.wgsl" as element
//% if "f16" in (X, W, OUT, BIAS, RESIDUAL)
enable f16;
//% endif
//% if ACTIVATION != "x"
//% include "common/math.wgsl"
//% include "common/activation.wgsl"
//% endif

struct Params {
    x_offset: u32,
    w_offset: u32,
    out_offset: u32,
    channels: i32,       // of x, in one group
    results: u32,        // channels of out, in one group
    positions: u32,         // of one member of the batch
    all_positions: u32,
    groups: u32,
    slices: u32,
    slice_steps: i32,    // steps of a slice
    slice_stride: i32,   // from the results of one slice to the next
    bias_offset: u32,
    residual_offset: u32,
    activation: vec2f,   // its parameters
    size: vec3i,         // of x, along z, y, x
    window: vec3i,
    outs: vec3u,
    step: vec3i,
    spread: vec3i,
    origin: vec3i,       // where the first window begins
    x_strides: array<vec4i, 2>,         // batch, group, channel, -, z, y, x
    w_strides: array<vec4i, 2>,         // group, out, in, -, z, y, x
    out_strides: array<vec4i, 2>,       // batch, group, channel, -, z, y, x
    bias_strides: vec2i,                // group, channel
    residual_strides: array<vec4i, 2>,  // as out
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: ${element.storage(X)};
//% if W
@group(0) @binding(2) var<storage, read> w: ${element.storage(W)};
//% endif
@group(0) @binding(3) var<storage, read_write> out: ${element.storage(OUT)};
//% if BIAS
@group(0) @binding(4) var<storage, read> bias: ${element.storage(BIAS)};
//% endif
//% if RESIDUAL
@group(0) @binding(5) var<storage, read> residual: ${element.storage(RESIDUAL)};
//% endif

// z, y, x of a position in out.
fn unraveled(position: u32) -> vec3i {
    let row = position / params.outs.z;
    return vec3i(vec3u(row / params.outs.y, row % params.outs.y, position % params.outs.z));
}

fn is_inside(at: vec3i) -> bool {
    return all(bitcast<vec3u>(at) < bitcast<vec3u>(params.size));
}

fn activated(x: ${VALUE}) -> ${VALUE} {
    return ${ACTIVATION};
}

// The offset of channel 0 of a group at a position of one batch member, by the strides of out or of the residual.
fn offset_of(strides: array<vec4i, 2>, member: u32, group: u32, at: vec3i) -> i32 {
    return i32(member) * strides[0].x + i32(group) * strides[0].y + dot(at, strides[1].xyz);
}

// Add to a sum what belongs to the result of channel `row` of its group, and write it, `shift` elements further.
fn write_result(sum: ${VALUE}, shift: i32, member: u32, group: u32, row: i32, at: vec3i) {
    var total = sum;
    //% if BIAS
    let bias_at = i32(params.bias_offset) + i32(group) * params.bias_strides.x + row * params.bias_strides.y;
    total += ${VALUE}(${element.load("bias", BIAS, "u32(bias_at)")});
    //% endif
    //% if RESIDUAL
    let residual_at = i32(params.residual_offset) + offset_of(params.residual_strides, member, group, at)
        + row * params.residual_strides[0].z;
    total += ${VALUE}(${element.load("residual", RESIDUAL, "u32(residual_at)")});
    //% endif
    let out_at = i32(params.out_offset) + shift + offset_of(params.out_strides, member, group, at)
        + row * params.out_strides[0].z;
    out[u32(out_at)] = ${OUT}(activated(total));
}
