// One reduction of a strided tensor. A workgroup of COLUMNS x ROWS invocations makes COLUMNS outputs: ROWS invocations
// take the elements of one output in turn, and a tree in workgroup memory joins their partial results. With ROWS = 1
// each invocation makes an output alone. The order of additions depends on shapes only, so the same input gives the
// same bits.
// In: COLUMNS, ROWS, powers of two; FROM and TO, the dtypes read and written, or "partial" between two passes; VALUE,
//     the WGSL type worked in; LIFT, an element x as a VALUE; COMBINE, a and b as one; FINISH, the total as a result;
//     ARG, whether indices are returned instead (then BEFORE tests whether a is to be chosen over b); EVEN, whether the
//     elements of one output are evenly spaced.
// Out: out[i] = the reduction of params.count elements, for each of params.outputs.
//% import "common/element.wgsl" as element
//% if "f16" in (FROM, TO)
enable f16;
//% endif
//% include "common/math.wgsl"
//% if VALUE == "f64"
//% include "common/double.wgsl"
//% endif
//% set WORKGROUP = COLUMNS * ROWS
//% set UNROLL = 4

//% if ARG
const NOWHERE = 0xffffffffu;

struct Partial {
    value: ${VALUE},
    at: u32,
}
//% else
alias Partial = ${VALUE};
//% endif

struct Params {
    count: u32,
    outputs: u32,
    chunk: u32,  // elements of an output that one workgroup takes
    chunks: u32,
    identity: ${VALUE},
    divisor: ${"f64" if VALUE == "f64" else "f32"},  // elements that the mean is of
    source_offset: u32,
    out_offset: u32,
    outer_axes: u32,
    reduced_axes: u32,
    outer: array<vec4u, 2>,
    reduced: array<vec4u, 2>,
    source_strides: array<vec4i, 2>,  // along the outer axes
    source_steps: array<vec4i, 2>,  // along the reduced axes
    out_strides: array<vec4i, 2>,
}

@group(0) @binding(0) var<uniform> params: Params;
//% if FROM == "partial"
@group(0) @binding(1) var<storage, read> source: array<Partial>;
//% else
@group(0) @binding(1) var<storage, read> source: ${element.storage(FROM)};
//% endif
//% if TO == "partial"
@group(0) @binding(2) var<storage, read_write> out: array<Partial>;
//% else
@group(0) @binding(2) var<storage, read_write> out: ${element.storage(TO, TO == "u8")};
//% endif

//% if ROWS > 1
var<workgroup> tree: array<Partial, ${WORKGROUP}>;
//% endif

fn identity() -> Partial {
    //% if ARG
    return Partial(params.identity, NOWHERE);
    //% else
    return params.identity;
    //% endif
}

//% if ARG
fn before(a: ${VALUE}, b: ${VALUE}) -> bool {
    return ${BEFORE};
}
//% endif

// Of equal values the first is found, as NumPy has it.
fn combine(a: Partial, b: Partial) -> Partial {
    //% if ARG
    let b_wins = before(b.value, a.value) || (!before(a.value, b.value) && b.at < a.at);
    if b.at != NOWHERE && (a.at == NOWHERE || b_wins) {
        return b;
    }
    return a;
    //% else
    return ${COMBINE};
    //% endif
}

// Element number r of the output whose elements begin at `base`.
fn load(base: i32, r: u32) -> Partial {
    //% if FROM == "partial"
    return source[u32(base) + r * params.outputs];
    //% else
    //% if EVEN
    let at = base + i32(r) * params.source_steps[0][0];
    //% else
    var at = base;
    var rest = r;
    for (var axis = params.reduced_axes; axis > 0u; axis -= 1u) {
        let size = params.reduced[(axis - 1u) / 4u][(axis - 1u) % 4u];
        at += i32(rest % size) * params.source_steps[(axis - 1u) / 4u][(axis - 1u) % 4u];
        rest = rest / size;
    }
    //% endif
    let x = ${element.load("source", FROM, "u32(at)")};
    //% if ARG
    return Partial(${LIFT}, r);
    //% else
    return ${LIFT};
    //% endif
    //% endif
}

// Several running totals: shorter chains of roundings, and loads that do not wait for each other.
fn fold(base: i32, first: u32, end: u32) -> Partial {
    //% for t in range(UNROLL)
    var total${t} = identity();
    //% endfor
    var r = first;
    for (; r + ${(UNROLL - 1) * ROWS}u < end; r += ${UNROLL * ROWS}u) {
        //% for t in range(UNROLL)
        total${t} = combine(total${t}, load(base, r + ${t * ROWS}u));
        //% endfor
    }
    for (; r < end; r += ${ROWS}u) {
        total0 = combine(total0, load(base, r));
    }
    return combine(combine(total0, total1), combine(total2, total3));
}

fn source_of(output: u32) -> i32 {
    //% if FROM == "partial"
    return i32(output);
    //% else
    var at = i32(params.source_offset);
    var rest = output;
    for (var axis = params.outer_axes; axis > 0u; axis -= 1u) {
        let size = params.outer[(axis - 1u) / 4u][(axis - 1u) % 4u];
        at += i32(rest % size) * params.source_strides[(axis - 1u) / 4u][(axis - 1u) % 4u];
        rest = rest / size;
    }
    return at;
    //% endif
}

fn write(output: u32, chunk: u32, total: Partial) {
    //% if TO == "partial"
    out[chunk * params.outputs + output] = total;
    //% else
    var at = i32(params.out_offset);
    var rest = output;
    for (var axis = params.outer_axes; axis > 0u; axis -= 1u) {
        let size = params.outer[(axis - 1u) / 4u][(axis - 1u) % 4u];
        at += i32(rest % size) * params.out_strides[(axis - 1u) / 4u][(axis - 1u) % 4u];
        rest = rest / size;
    }
    let result = ${FINISH};
    ${element.store("out", TO, "u32(at)", "result")}
    //% endif
}

@compute @workgroup_size(${WORKGROUP})
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = group.y * num_workgroups.x + group.x;
    let blocks = (params.outputs + ${COLUMNS - 1}u) / ${COLUMNS}u;
    let chunk = number / blocks;
    if chunk >= params.chunks {
        return;
    }
    let output = (number % blocks) * ${COLUMNS}u + lane % ${COLUMNS}u;
    let row = lane / ${COLUMNS}u;
    var total = identity();
    if output < params.outputs {
        let first = chunk * params.chunk;
        total = fold(source_of(output), first + row, min(first + params.chunk, params.count));
    }
    //% if ROWS > 1
    tree[lane] = total;
    //% for step in range(1, 9)
    //% set half = ROWS // 2 ** step
    //% if half >= 1
    workgroupBarrier();
    if row < ${half}u {
        tree[lane] = combine(tree[lane], tree[lane + ${half * COLUMNS}u]);
    }
    //% endif
    //% endfor
    total = tree[lane];
    //% endif
    if row == 0u && output < params.outputs {
        write(output, chunk, total);
    }
}
