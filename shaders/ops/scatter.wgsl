// Elements taken from, or put into, places that another tensor names, or those places; tensors are contiguous.
// Indices below 0 count from the end. What lies outside is not written, and read as NaN if it is a float, 0 or false if not.
// In: DTYPE of x and out; INDEX, of the indices; KIND, "gather", or how a value joins what is there: "put", "add",
//     "multiply", "min", "max"; or "place", for the number of each place; or "last", for who names it last; LAST, with
//     "put": whether `last` says whose value stays where several are put; DEPTH, how many axes an index names; RANK, with
//     DEPTH 0: indices name one axis, element by element, in a tensor of RANK axes.
// Out: gather: out[i] = x[place(i)]; place: out[i] = place(i), or params.nowhere if it lies outside; last: out[place(i)],
//     0 before, is the largest i + 1; else out[place(i)] = out[place(i)] joined with x[i], for each of params.count.
//% import "common/element.wgsl" as element
//% import "common/index.wgsl" as index
//% if DTYPE == "f16"
enable f16;
//% endif
//% include "common/index.wgsl"
//% include "common/math.wgsl"
//% set ATOMIC = KIND not in ("gather", "put", "place")
//% set WORDS = DTYPE == "f32" or KIND == "multiply"

struct Params {
    count: u32,
    x_offset: u32,
    out_offset: u32,
    indices_offset: u32,
    run: u32,        // elements that one index names
    group: u32,      // indices of one member of the batch
    batch_step: i32, // elements from one member to the next, where indices name places
    axis_size: i32,
    axis_step: i32,
    sizes: array<vec4i, 2>,  // of the axes that an index names
    steps: array<vec4i, 2>,
    shape: array<vec4u, 2>,  // of the indices
    at_offset: u32,
    at_strides: array<vec4i, 2>,
    nowhere: u32,
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

// The place along an axis of `size` that an index names; -1 if it lies outside.
fn named(i: u32, size: i32) -> i32 {
    let index = ${element.load("indices", INDEX, "(params.indices_offset + i)")};
    //% if INDEX == "i32"
    let place = select(index, index + size, index < 0);
    return select(-1, place, place >= 0 && place < size);
    //% else
    return select(-1, i32(index), index < u32(size));
    //% endif
}

//% if ATOMIC and KIND != "last"
fn joined(a: ${DTYPE}, b: ${DTYPE}) -> ${DTYPE} {
    return ${ {"add": "a + b", "multiply": "a * b", "min": "minimum_f(a, b)" if DTYPE == "f32" else "min(a, b)", "max": "maximum_f(a, b)" if DTYPE == "f32" else "max(a, b)"}[KIND] };
}

fn join(at: u32, value: ${DTYPE}) {
    //% if WORDS
    var old = atomicLoad(&out[at]);
    loop {
        let wanted = bitcast<u32>(joined(bitcast<${DTYPE}>(old), value));
        let result = atomicCompareExchangeWeak(&out[at], old, wanted);
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
    var place = i32(row / params.group) * params.batch_step + i32(i % params.run);
    var is_there = true;
    //% for k in range(DEPTH)
    {
        let at = named(row * ${DEPTH}u + ${k}u, params.sizes[${k // 4}][${k % 4}]);
        is_there = is_there && at >= 0;
        place += at * params.steps[${k // 4}][${k % 4}];
    }
    //% endfor
    //% else
    ${index.walk("i", RANK, ["at"])}
    let chosen = named(i, params.axis_size);
    let is_there = chosen >= 0;
    let place = at_at + chosen * params.axis_step;
    //% endif
    //% if KIND == "place"
    out[params.out_offset + i] = select(params.nowhere, u32(place), is_there);
    //% elif KIND == "last"
    if is_there {
        atomicMax(&out[params.out_offset + u32(place)], i + 1u);
    }
    //% elif KIND == "gather"
    var value = ${element.value_type(DTYPE)}(${"bitcast<f32>(0x7fc00000u + (i & 0u))" if DTYPE in ("f32", "f16") else "0"});
    if is_there {
        value = ${element.load("x", DTYPE, "params.x_offset + u32(place)")};
    }
    let out_at = params.out_offset + i;
    ${element.store("out", DTYPE, "out_at", "value")}
    //% else
    let value = ${element.load("x", DTYPE, "params.x_offset + i")};
    if is_there${" && last[params.last_offset + u32(place) / params.run] == i / params.run + 1u" if LAST else ""} {
        let out_at = params.out_offset + u32(place);
        //% if ATOMIC
        join(out_at, value);
        //% else
        ${element.store("out", DTYPE, "out_at", "value")}
        //% endif
    }
    //% endif
}
