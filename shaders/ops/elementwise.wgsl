// One elementwise operation on strided tensors.
// In: INPUTS, a list of (name, dtype, where) with where one of "tensor", "scalar", "out" (read from the output itself);
//     COMPUTE, the dtype the expression is worked out in, and CASTS, which inputs are cast to it; EXPRESSION over the names
//     of the inputs with an underscore; RESULT, the dtype it has; OUT, the dtype that is stored;
//     RANK, the number of axes, at most 8.
// Out: out[i] = EXPRESSION for each of params.count elements.
//% import "common/element.wgsl" as element
//% import "common/index.wgsl" as index
//% set TENSORS = INPUTS | selectattr(2, "equalto", "tensor") | map(attribute=0) | list
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
    ${name}: ${element.uniform_type(dtype)},
    //% endif
    //% endfor
    shape: array<vec4u, 2>,
    out_strides: array<vec4i, 2>,
    //% for name in TENSORS
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
    ${index.walk("i", RANK, ["out"] + TENSORS)}
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
    let stored = ${element.convert("result", RESULT, OUT)};
    ${element.store("out", OUT, "u32(out_at)", "stored")}
}
