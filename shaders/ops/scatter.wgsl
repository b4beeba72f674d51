// Gather and scatter by a tensor of indices, or the linear indices alone; tensors are contiguous. Indices below 0 count
// from the end. What is outside is not written, and read as NaN if it is a float, 0 or false if not.
// In: DTYPE of x and out; INDEX, of the indices; KIND, "gather", or a reduction: "none", "add", "mul", "min", "max"; or
//     "linear", for linear indices; or "last", for the last index of each target; LAST, with "none": whether `last`
//     contains the index of the last of several updates; DEPTH, how many axes an index names; RANK, with DEPTH 0: indices
//     name one axis, element by element, in a tensor of RANK axes.
// Out: gather: out[i] = x[linear(i)]; linear: out[i] = linear(i), or params.out_of_range if it is outside; last:
//     out[linear(i)], 0 before, is the largest i + 1; else out[linear(i)] = out[linear(i)] reduced with x[i], for each of
//     params.count.
//% import "common/element.wgsl" as element
//% import "common/index.wgsl" as index
//% if DTYPE == "f16"
enable f16;
//% endif
//% include "common/index.wgsl"
//% include "common/math.wgsl"
//% set ATOMIC = KIND not in ("gather", "none", "linear")
//% set WORDS = DTYPE == "f32" or KIND == "mul"

struct Params {
    count: u32,
    x_offset: u32,
    out_offset: u32,
    indices_offset: u32,
    run: u32,        // elements that one index names
    group: u32,      // indices of one member of the batch
    batch_step: i32, // elements from one member to the next, for indices into each member
    axis_size: i32,
    axis_step: i32,
    sizes: array<vec4i, 2>,  // of the axes that an index names
    steps: array<vec4i, 2>,
    shape: array<vec4u, 2>,  // of the indices
    at_offset: u32,
    at_strides: array<vec4i, 2>,
    out_of_range: u32,
    last_offset: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: ${element.storage(DTYPE)};
@group(0) @binding(2) var<storage, read> indices: ${element.storage(INDEX)};
//% if not ATOMIC
@group(0) @binding(3) var<storage, read_write> out: ${element.storage(DTYPE, DTYPE == "u8")};
//% elif WORDS
@group(0) @binding(3) var<storage, read_write> out: array<atomic<u32>>;
//% else
@group(0) @binding(3) var<storage, read_write> out: array<atomic<${DTYPE}>>;
//% endif
//% if LAST
@group(0) @binding(4) var<storage, read> last: array<u32>;
//% endif

// An index along an axis of `size`, counted from 0; -1 out of range.
fn index_at(i: u32, size: i32) -> i32 {
    let index = ${element.load("indices", INDEX, "(params.indices_offset + i)")};
    //% if INDEX == "i32"
    let from_start = select(index, index + size, index < 0);
    return select(-1, from_start, from_start >= 0 && from_start < size);
    //% else
    return select(-1, i32(index), index < u32(size));
    //% endif
}

//% if ATOMIC and KIND != "last"
fn reduced(a: ${DTYPE}, b: ${DTYPE}) -> ${DTYPE} {
    return ${ {"add": "a + b", "mul": "a * b", "min": "minimum_f(a, b)" if DTYPE == "f32" else "min(a, b)", "max": "maximum_f(a, b)" if DTYPE == "f32" else "max(a, b)"}[KIND] };
}

fn reduce(at: u32, value: ${DTYPE}) {
    //% if WORDS
    var old = atomicLoad(&out[at]);
    loop {
        let desired = bitcast<u32>(reduced(bitcast<${DTYPE}>(old), value));
        let result = atomicCompareExchangeWeak(&out[at], old, desired);
        if result.exchanged {
            break;
        }
        old = result.old_value;
    }
    //% else
    ${ {"add": "atomicAdd", "min": "atomicMin", "max": "atomicMax"}[KIND] }(&out[at], value);
    //% endif
}
//% endif

@compute @workgroup_size(128)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.count {
        return;
    }
    //% if DEPTH
    let row = i / params.run;
    var linear = i32(row / params.group) * params.batch_step + i32(i % params.run);
    var is_there = true;
    //% for k in range(DEPTH)
    {
        let at = index_at(row * ${DEPTH}u + ${k}u, params.sizes[${k // 4}][${k % 4}]);
        is_there = is_there && at >= 0;
        linear += at * params.steps[${k // 4}][${k % 4}];
    }
    //% endfor
    //% else
    ${index.walk("i", RANK, ["at"])}
    let chosen = index_at(i, params.axis_size);
    let is_there = chosen >= 0;
    let linear = at_at + chosen * params.axis_step;
    //% endif
    //% if KIND == "linear"
    out[params.out_offset + i] = select(params.out_of_range, u32(linear), is_there);
    //% elif KIND == "last"
    if is_there {
        atomicMax(&out[params.out_offset + u32(linear)], i + 1u);
    }
    //% elif KIND == "gather"
    var value = ${element.value_type(DTYPE)}(${"bitcast<f32>(0x7fc00000u + (i & 0u))" if DTYPE in ("f32", "f16", "f64") else "0"});
    if is_there {
        value = ${element.load("x", DTYPE, "params.x_offset + u32(linear)")};
    }
    let out_at = params.out_offset + i;
    ${element.store("out", DTYPE, "out_at", "value")}
    //% else
    let value = ${element.load("x", DTYPE, "params.x_offset + i")};
    if is_there${" && last[params.last_offset + u32(linear) / params.run] == i / params.run + 1u" if LAST else ""} {
        let out_at = params.out_offset + u32(linear);
        //% if ATOMIC
        reduce(out_at, value);
        //% else
        ${element.store("out", DTYPE, "out_at", "value")}
        //% endif
    }
    //% endif
}
