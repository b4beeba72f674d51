// A tensor continued beyond its borders.
// In: DTYPE; RANK, the number of axes, at most 8; MODE, "constant", "edge", "reflect" (about the last element, which is
//     not repeated) or "wrap".
// Out: out[i] = x[i - begin], continued, for each of params.count elements.
//% import "common/element.wgsl" as element
//% if DTYPE == "f16"
enable f16;
//% endif
//% include "common/index.wgsl"
//% include "common/math.wgsl"

struct Params {
    count: u32,
    x_offset: u32,
    out_offset: u32,
    value: ${element.uniform_type(DTYPE)},
    shape: array<vec4u, 2>,
    size: array<vec4i, 2>,   // of x
    begin: array<vec4i, 2>,
    x_strides: array<vec4i, 2>,
    out_strides: array<vec4i, 2>,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: ${element.storage(DTYPE)};
@group(0) @binding(2) var<storage, read_write> out: ${element.storage(DTYPE, DTYPE == "u8")};

// The index along an axis of n elements of the value for position i; n at least 1.
fn source(i: i32, n: i32) -> i32 {
    //% if MODE == "reflect"
    let period = max(2 * n - 2, 1);
    let at = remainder_i(i, period);
    return min(at, period - at) * select(0, 1, n > 1);
    //% elif MODE == "wrap"
    return remainder_i(i, n);
    //% else
    return clamp(i, 0, n - 1);
    //% endif
}

@compute @workgroup_size(128)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.count {
        return;
    }
    var rest = i;
    var x_at = i32(params.x_offset);
    var out_at = i32(params.out_offset);
    var is_inside = true;
    //% for axis in range(RANK - 1, -1, -1)
    {
        let length = params.shape[${axis // 4}][${axis % 4}];
        let at = i32(rest % length);
        rest = rest / length;
        let coordinate = at - params.begin[${axis // 4}][${axis % 4}];
        let n = params.size[${axis // 4}][${axis % 4}];
        is_inside = is_inside && coordinate >= 0 && coordinate < n;
        x_at += source(coordinate, n) * params.x_strides[${axis // 4}][${axis % 4}];
        out_at += at * params.out_strides[${axis // 4}][${axis % 4}];
    }
    //% endfor
    //% if MODE == "constant"
    var value = ${element.value_type(DTYPE)}(params.value);
    if is_inside {
        value = ${element.load("x", DTYPE, "u32(x_at)")};
    }
    //% else
    let value = ${element.load("x", DTYPE, "u32(x_at)")};
    //% endif
    ${element.store("out", DTYPE, "u32(out_at)", "value")}
}
