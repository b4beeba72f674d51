// Pooling: one result for each window over the spatial axes of x.
// In: X, the dtype of x; OUT, of the result; VALUE, the WGSL type worked in; KIND, "max", "mean" or "lp"; INDICES,
//     whether indices of largest elements are stored as well; UNROLL, elements of a window that one iteration takes.
// Out: out[n, c, position] = the largest element, the mean, or (Σ |x|^p)^(1/p) of those that the window sees.
//% import "common/element.wgsl" as element
//% if "f16" in (X, OUT)
enable f16;
//% endif
//% include "common/index.wgsl"
//% include "common/spatial_index.wgsl"
//% include "common/math.wgsl"
//% include "common/activation.wgsl"
//% include "common/precise.wgsl"
//% if VALUE == "f64"
//% include "common/double.wgsl"
//% include "common/double_powers.wgsl"
//% endif
//% set POWER = "double_power" if VALUE == "f64" else "power"
//% set IS_NAN = "double_is_nan" if VALUE == "f64" else "is_nan"

struct Params {
    count: u32,
    channels: u32,
    x_offset: u32,
    out_offset: u32,
    indices_offset: u32,
    count_include_pad: u32, // whether a mean is of the padding too
    is_column_major: u32,      // whether indices count along the first spatial axis first
    power: ${"f64" if VALUE == "f64" else "f32"},
    least: ${VALUE},
    size: vec3i,         // of x, along z, y, x
    window: vec3i,
    outs: vec3u,
    step: vec3i,
    spread: vec3i,
    begin: vec3i,
    end: vec3i,
    x_strides: array<vec4i, 2>,    // batch, channel, -, -, z, y, x
    out_strides: array<vec4i, 2>,
    indices_strides: array<vec4i, 2>,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: ${element.storage(X)};
@group(0) @binding(2) var<storage, read_write> out: ${element.storage(OUT, OUT == "u8")};
//% if INDICES
@group(0) @binding(3) var<storage, read_write> indices: array<i32>;
//% endif

fn offset_of(strides: array<vec4i, 2>, member: i32, channel: i32, at: vec3i) -> u32 {
    return u32(member * strides[0].x + channel * strides[0].y + dot(at, strides[1].xyz));
}

@compute @workgroup_size(128)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.count {
        return;
    }
    let index = spatial_index(i, params.channels);
    let at = index.at;
    let member = index.member;
    let channel = index.channel;
    let start = at * params.step - params.begin;
    //% if KIND == "max"
    var total = params.least;
    var found = vec3i(-1);
    //% else
    var total = ${VALUE}(0);
    //% endif
    var count = 0;
    //% macro take()
        let position = start + vec3i(a, b, c) * params.spread;
        let is_inside = all(position >= vec3i(0)) && all(position < params.size);
        if is_inside || (params.count_include_pad != 0u && all(position < params.size + params.end)) {
            count += 1;
        }
        if is_inside {
            let x_at = params.x_offset + offset_of(params.x_strides, member, channel, position);
            let value = ${VALUE}(${element.load("x", X, "x_at")});
            //% if KIND == "max"
            //% if VALUE in ("f32", "f64")
            let is_more = value > total || (${IS_NAN}(value) && !${IS_NAN}(total)) || found.x < 0;
            //% else
            let is_more = value > total || found.x < 0;
            //% endif
            found = select(found, position, is_more);
            total = select(total, value, is_more);
            //% elif KIND == "mean"
            total += value;
            //% else
            total += select(${POWER}(abs(value), params.power), value * value, params.power == 2.0);
            //% endif
        }
    //%- endmacro
    //% if UNROLL == 1
    for (var a = 0; a < params.window.x; a += 1) {
        for (var b = 0; b < params.window.y; b += 1) {
            for (var c = 0; c < params.window.z; c += 1) {
                ${take()}
            }
        }
    }
    //% else
    let taps = params.window.x * params.window.y * params.window.z;
    for (var first = 0; first < taps; first += ${UNROLL}) {
        //% for k in range(UNROLL)
        if first + ${k} < taps {
            let line = (first + ${k}) / params.window.z;
            let a = line / params.window.y;
            let b = line % params.window.y;
            let c = (first + ${k}) % params.window.z;
                ${take()}
        }
        //% endfor
    }
    //% endif
    //% if KIND == "mean"
    total = total / ${VALUE}(max(count, 1));
    //% elif KIND == "lp"
    total = select(${POWER}(total, 1.0 / params.power), sqrt(total), params.power == 2.0);
    //% endif
    let out_at = params.out_offset + offset_of(params.out_strides, member, channel, at);
    let result = ${element.convert("total", VALUE, OUT) if OUT != "u8" else "total"};
    ${element.store("out", OUT, "out_at", "result")}
    //% if INDICES
    let size = params.size;
    let by_row = (found.x * size.y + found.y) * size.z + found.z;
    let by_column = (found.z * size.y + found.y) * size.x + found.x;
    let inside = select(by_row, by_column, params.is_column_major != 0u);
    let first = (member * i32(params.channels) + channel) * size.x * size.y * size.z;
    let indices_at = params.indices_offset + offset_of(params.indices_strides, member, channel, at);
    indices[indices_at] = select(first + inside, -1, found.x < 0);
    //% endif
}
