// A tensor resampled along some of its axes: each result is a weighted sum over a few elements along each of them.
// In: X, OUT, dtypes; VALUE, the WGSL type worked in; RANK, at most 8; TAPS, for each axis how many elements a result
//     is computed from along it, 0 where the axis stays as it is; WEIGHTED, whether they have weights (else there is one
//     along each axis); OUTSIDE, whether a first tap of -1 stands for params.outside.
// Out: out[o] = Σ weights · x, the elements and weights of axis a at tables[starts[a] + o[a] · TAPS[a] + tap].
//% import "common/element.wgsl" as element
//% if "f16" in (X, OUT)
enable f16;
//% endif
//% include "common/index.wgsl"

struct Params {
    count: u32,
    x_offset: u32,
    out_offset: u32,
    indices_offset: u32,
    weights_offset: u32,
    outside: ${element.uniform_type(VALUE)},
    shape: array<vec4u, 2>,
    starts: array<vec4u, 2>,
    x_strides: array<vec4i, 2>,
    out_strides: array<vec4i, 2>,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: ${element.storage(X)};
@group(0) @binding(2) var<storage, read> indices: array<i32>;
//% if WEIGHTED
@group(0) @binding(3) var<storage, read> weights: array<${"f64" if VALUE == "f64" else "f32"}>;
//% endif
@group(0) @binding(4) var<storage, read_write> out: ${element.storage(OUT, OUT == "u8")};

@compute @workgroup_size(128)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.count {
        return;
    }
    var rest = i;
    var x_base = i32(params.x_offset);
    var out_at = i32(params.out_offset);
    var is_outside = false;
    //% for axis in range(RANK - 1, -1, -1)
    let length${axis} = params.shape[${axis // 4}][${axis % 4}];
    let at${axis} = rest % length${axis};
    rest = rest / length${axis};
    out_at += i32(at${axis}) * params.out_strides[${axis // 4}][${axis % 4}];
    let stride${axis} = params.x_strides[${axis // 4}][${axis % 4}];
    //% if TAPS[axis]
    let row${axis} = params.starts[${axis // 4}][${axis % 4}] + at${axis} * ${TAPS[axis]}u;
    //% if OUTSIDE
    is_outside = is_outside || indices[params.indices_offset + row${axis}] < 0;
    //% endif
    //% else
    x_base += i32(at${axis}) * stride${axis};
    //% endif
    //% endfor
    var total = ${VALUE}(params.outside);
    if !is_outside {
        total = ${VALUE}(0);
        let x_at = x_base;
        let weight = ${"1.0lf" if VALUE == "f64" else "1.0"};
        //% for axis in range(RANK) if TAPS[axis]
        for (var tap${axis} = 0u; tap${axis} < ${TAPS[axis]}u; tap${axis} += 1u) {
            let index${axis} = indices[params.indices_offset + row${axis} + tap${axis}];
            let weight_above${axis} = ${"weight" if loop.first else "weight_here" ~ loop.previtem};
            //% if WEIGHTED
            let weight_here${axis} = weight_above${axis} * weights[params.weights_offset + row${axis} + tap${axis}];
            //% else
            let weight_here${axis} = weight_above${axis};
            //% endif
            let at_here${axis} = ${"x_at" if loop.first else "at_here" ~ loop.previtem} + index${axis} * stride${axis};
        //% if loop.last
            let value = ${VALUE}(${element.load("x", X, "u32(at_here" ~ axis ~ ")")});
            total ${"+= weight_here" ~ axis ~ " * value" if WEIGHTED else "= value"};
        //% endif
        //% endfor
        //% for axis in range(RANK) if TAPS[axis]
        }
        //% endfor
    }
    //% if VALUE == "f32" and OUT not in ("f32", "f16")
    let result = ${element.convert("total", "f32", OUT)};
    //% else
    let result = ${"total" if OUT in ("bool", "u8") else OUT ~ "(total)"};
    //% endif
    ${element.store("out", OUT, "u32(out_at)", "result")}
}
