// One elementwise operation on strided tensors.
// In: INPUTS, a list of (name, dtype, where) with where one of "tensor", "scalar", "out" (read from the output itself);
//     COMPUTE, the dtype the expression is worked out in; EXPRESSION over the names of the inputs; RESULT, the dtype it has;
//     OUT, the dtype that is stored; RANK, the number of axes, at most 8.
// Out: out[i] = EXPRESSION for each of params.count elements.
//% import "common/element.wgsl" as element
//% if USES_F16
enable f16;
//% endif
//% include "common/index.wgsl"
//% include "common/math.wgsl"

struct Params {
    count: u32,
    out_offset: u32,
    //% for name, dtype, where in INPUTS
    //% if where == "tensor"
    ${name}_offset: u32,
    //% elif where == "scalar"
    ${name}: ${ {"bool": "u32", "u8": "u32", "f16": "f32"}.get(dtype, dtype) },
    //% endif
    //% endfor
    shape: array<vec4u, 2>,
    out_strides: array<vec4i, 2>,
    //% for name, dtype, where in INPUTS if where == "tensor"
    ${name}_strides: array<vec4i, 2>,
    //% endfor
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> out: ${element.storage(OUT, OUT == "u8")};
//% for name, dtype, where in INPUTS if where == "tensor"
@group(0) @binding(${loop.index + 1}) var<storage, read> ${name}: ${element.storage(dtype)};
//% endfor

@compute @workgroup_size(128)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.count {
        return;
    }
    var rest = i;
    var out_at = i32(params.out_offset);
    //% for name, dtype, where in INPUTS if where == "tensor"
    var ${name}_at = i32(params.${name}_offset);
    //% endfor
    //% for axis in range(RANK - 1, -1, -1)
    {
        let size = params.shape[${axis // 4}][${axis % 4}];
        let at = i32(rest % size);
        rest = rest / size;
        out_at += at * params.out_strides[${axis // 4}][${axis % 4}];
        //% for name, dtype, where in INPUTS if where == "tensor"
        ${name}_at += at * params.${name}_strides[${axis // 4}][${axis % 4}];
        //% endfor
    }
    //% endfor
    //% for name, dtype, where in INPUTS
    //% set cast = element.value_type(COMPUTE if CASTS[loop.index0] else dtype)
    //% if where == "tensor"
    let ${name}_ = ${cast}(${element.load(name, dtype, "u32(" ~ name ~ "_at)")});
    //% elif where == "out"
    let ${name}_ = ${cast}(${element.load("out", dtype, "u32(out_at)", OUT == "u8")});
    //% elif dtype == "bool"
    let ${name}_ = ${cast}(params.${name} != 0u);
    //% else
    let ${name}_ = ${cast}(params.${name});
    //% endif
    //% endfor
    let result = ${EXPRESSION};
    let stored = ${element.value_type(OUT)}(result);
    ${element.store("out", OUT, "u32(out_at)", "stored")}
}
