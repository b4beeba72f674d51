// A chain of elementwise operations on strided tensors.
// In: INPUTS, a list of (name, dtype, where) with where one of "tensor", "number", "out" (read from the output itself);
//     STATEMENTS over the inputs' names with an underscore, each giving a value its name; LAST, the WGSL of the result; RESULT, the dtype it
//     has (a value of f16 is an f32); OUT, the dtype that is stored; RANK, the number of axes, at most 8;
//     FUNCTIONS, which files of functions the statements call; WORKGROUP, its size; WIDE, whether an invocation makes four
//     neighboring results, QUADS the inputs of which it then reads four elements at once (of others it reads one).
// Out: out[i] = LAST for each of params.count elements.
//% import "common/element.wgsl" as element
//% import "common/index.wgsl" as index
//% set TENSORS = INPUTS | selectattr(2, "equalto", "tensor") | map(attribute=0) | list
//% if USES_F16
enable f16;
//% endif
//% include "common/index.wgsl"
//% include "common/math.wgsl"
//% if "activation" in FUNCTIONS
//% include "common/activation.wgsl"
//% endif
//% if "precise" in FUNCTIONS
//% include "common/precise.wgsl"
//% endif
//% if "words" in FUNCTIONS
//% include "common/words.wgsl"
//% endif
//% if USES_F64
//% include "common/double.wgsl"
//% endif
//% for name in FUNCTIONS if name.startswith("double_")
//% include "common/" ~ name ~ ".wgsl"
//% endfor

struct Params {
    count: u32,
    out_offset: u32,
    //% for name, dtype, where in INPUTS
    //% if where == "tensor"
    ${name}_offset: u32,
    //% elif where == "number"
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
//% if WIDE
@group(0) @binding(1) var<storage, read_write> out: array<vec4<${element.stored_type(OUT)}>>;
//% for name, dtype, where in INPUTS if where == "tensor"
@group(0) @binding(${loop.index + 1}) var<storage, read> ${name}: ${"array<vec4<" ~ element.stored_type(dtype) ~ ">>" if name in QUADS else element.storage(dtype)};
//% endfor
//% else
@group(0) @binding(1) var<storage, read_write> out: ${element.storage(OUT, OUT == "u8")};
//% for name, dtype, where in INPUTS if where == "tensor"
@group(0) @binding(${loop.index + 1}) var<storage, read> ${name}: ${element.storage(dtype)};
//% endfor
//% endif

@compute @workgroup_size(${WORKGROUP})
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, ${WORKGROUP}u);
    if i >= params.count {
        return;
    }
    ${index.walk("i", RANK, ["out"] + TENSORS)}
    //% if WIDE
    //% for name, dtype, where in INPUTS
    //% if where == "out"
    let ${name}_quad = out[u32(out_at) / 4u];
    //% elif where == "tensor" and name in QUADS
    let ${name}_quad = ${name}[u32(${name}_at) / 4u];
    //% endif
    //% endfor
    var quad = vec4<${element.stored_type(OUT)}>();
    //% endif
    //% for part in range(4 if WIDE else 1)
    {
        //% for name, dtype, where in INPUTS
        //% if WIDE and (where == "out" or name in QUADS)
        let ${name}_ = ${element.unpacked(name ~ "_quad[" ~ part ~ "]", dtype)};
        //% elif where == "tensor"
        let ${name}_ = ${element.widened(element.load(name, dtype, "u32(" ~ name ~ "_at)"), dtype)};
        //% elif where == "out"
        let ${name}_ = ${element.widened(element.load("out", dtype, "u32(out_at)", OUT == "u8"), dtype)};
        //% elif dtype == "bool"
        let ${name}_ = params.${name} != 0u;
        //% else
        let ${name}_ = params.${name};
        //% endif
        //% endfor
        //% for statement in STATEMENTS
        ${statement}
        //% endfor
        let stored = ${element.convert(LAST, RESULT, OUT)};
        //% if WIDE
        quad[${part}] = ${"select(0u, 1u, stored)" if OUT == "bool" else "stored"};
        //% else
        ${element.store("out", OUT, "u32(out_at)", "stored")}
        //% endif
    }
    //% endfor
    //% if WIDE
    out[u32(out_at) / 4u] = quad;
    //% endif
}
