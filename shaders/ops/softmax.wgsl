// Softmax of vectors: of each, in one pass its largest element and Σ e^(x - largest), in a second its results.
// A workgroup of COLUMNS x ROWS invocations makes COLUMNS vectors: ROWS invocations take the elements of one in turn.
// In: X, OUT, dtypes; COLUMNS, ROWS, powers of two; ALONG, whether neighboring invocations take neighboring elements of
//     one vector, not elements of neighboring vectors; EACH, how many elements an invocation takes and keeps in registers, 0
//     if it takes any number and reads them twice; KIND, "soft", "log" or "hard" (1 at the first largest, else 0); SUBGROUP,
//     invocations of a subgroup, which exchange their parts without memory, or 0; WIDE, whether an element is a quad of
//     neighbors, read and written at once, where EACH > 0 and KIND is not "hard".
// Out: out[v, i] for each of params.count elements of each of params.vectors.
//% import "common/element.wgsl" as element
//% import "common/index.wgsl" as index
//% if "f16" in (X, OUT)
enable f16;
//% endif
//% include "common/math.wgsl"
//% include "common/activation.wgsl"
//% include "common/precise.wgsl"
//% set WORKGROUP = COLUMNS * ROWS

struct Params {
    vectors: u32,
    count: u32,
    line_axes: u32,
    x_offset: u32,
    out_offset: u32,
    x_step: i32,  // from one element of a vector to the next
    out_step: i32,
    shape: array<vec4u, 2>,  // of the vectors
    x_strides: array<vec4i, 2>,
    out_strides: array<vec4i, 2>,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: ${"array<vec4<" ~ X ~ ">>" if WIDE else element.storage(X)};
@group(0) @binding(2) var<storage, read_write> out: ${"array<vec4<" ~ OUT ~ ">>" if WIDE else element.storage(OUT)};

// The largest element, Σ e^(x - largest), and where the largest was.
struct Part {
    top: f32,
    sum: f32,
    at: u32,
}

//% set PLAIN = EACH and KIND != "hard"
//% set SHUFFLED = SUBGROUP and PLAIN and ALONG
var<workgroup> parts: array<${"f32" if PLAIN else "Part"}, ${WORKGROUP}>;

//% if WIDE
fn element(base: i32, i: u32) -> vec4f {
    return vec4f(x[u32(base) / 4u + i]);
}
//% else
fn element(base: i32, i: u32) -> f32 {
    return f32(x[u32(base + i32(i) * params.x_step)]);
}
//% endif

// e^(x - top), 0 where both are -inf: there was no element then.
fn weight_of(x: f32, top: f32) -> f32 {
    return select(precise_exp(x - top), 0.0, is_inf(x) && x < 0.0);
}

// The larger one; NaN is the largest, and of equal ones it is the first.
fn larger(a: Part, b: Part) -> Part {
    let are_equal = b.top == a.top || (is_nan(a.top) && is_nan(b.top));
    if b.top > a.top || (is_nan(b.top) && !is_nan(a.top)) || (are_equal && b.at < a.at) {
        return b;
    }
    return a;
}

fn join(a: Part, b: Part) -> Part {
    let first = larger(a, b);
    return Part(first.top, a.sum * weight_of(a.top, first.top) + b.sum * weight_of(b.top, first.top), first.at);
}

fn added(a: f32, b: f32) -> f32 {
    return a + b;
}

// With one more element.
fn merged(a: Part, value: f32, i: u32) -> Part {
    var part = a;
    //% if KIND == "hard"
    if value > part.top || part.at == 0xffffffffu || (is_nan(value) && !is_nan(part.top)) {
        part = Part(value, 0.0, i);
    }
    //% else
    if value > part.top || is_nan(value) {
        part.sum = part.sum * weight_of(part.top, value) + select(1.0, of_bits(0x7fc00000u), is_inf(value) || is_nan(value));
        part.top = value;
    } else {
        part.sum += weight_of(value, part.top);
    }
    //% endif
    return part;
}

@compute @workgroup_size(${WORKGROUP})
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    //% if SHUFFLED
    @builtin(subgroup_id) subgroup: u32,
    @builtin(subgroup_invocation_id) position: u32,
    //% else
    @builtin(local_invocation_index) lane: u32,
    //% endif
) {
    //% if SHUFFLED
    let lane = subgroup * ${SUBGROUP}u + position;
    //% endif
    let number = group.y * num_workgroups.x + group.x;
    let column = ${"lane / " ~ ROWS if ALONG else "lane % " ~ COLUMNS}u;
    let row = ${"lane % " ~ ROWS if ALONG else "lane / " ~ COLUMNS}u;
    let vector = number * ${COLUMNS}u + column;
    let is_there = vector < params.vectors;
    var rest = min(vector, params.vectors - 1u);
    var x_at = i32(params.x_offset);
    var out_at = i32(params.out_offset);
    for (var axis = params.line_axes; axis > 0u; axis -= 1u) {
        let word = (axis - 1u) / 4u;
        let component = (axis - 1u) % 4u;
        let at = i32(rest % params.shape[word][component]);
        rest = rest / params.shape[word][component];
        x_at += at * params.x_strides[word][component];
        out_at += at * params.out_strides[word][component];
    }
    //% macro tree(name, join)
    //% if SHUFFLED and ROWS > 1
    // the same sums as by the tree below, bit by bit
    //% if ROWS > SUBGROUP
    parts[lane] = ${name};
    //% for step in range(1, 9)
    //% set half = ROWS // 2 ** step
    //% if half >= SUBGROUP
    workgroupBarrier();
    if row < ${half}u {
        parts[lane] = ${join}(parts[lane], parts[lane + ${half}u]);
    }
    //% endif
    //% endfor
    ${name} = parts[lane];
    //% endif
    //% for step in range(1, 9)
    //% set half = ([ROWS, SUBGROUP] | min) // 2 ** step
    //% if half >= 1
    ${name} = ${join}(${name}, subgroupShuffleXor(${name}, ${half}u));
    //% endif
    //% endfor
    //% if ROWS > SUBGROUP
    if row == 0u {
        parts[lane] = ${name};
    }
    workgroupBarrier();
    ${name} = parts[column * ${ROWS}u];
    //% endif
    //% elif ROWS > 1
    parts[lane] = ${name};
    //% for step in range(1, 9)
    //% set half = ROWS // 2 ** step
    //% if half >= 1
    workgroupBarrier();
    if row < ${half}u {
        parts[lane] = ${join}(parts[lane], parts[lane + ${half * (1 if ALONG else COLUMNS)}u]);
    }
    //% endif
    //% endfor
    workgroupBarrier();
    ${name} = parts[${"column * " ~ ROWS if ALONG else "column * 1"}u];
    //% endif
    //%- endmacro
    var part = Part(of_bits(0xff800000u), 0.0, 0xffffffffu);
    //% if EACH
    //% if PLAIN
    var total = part.top;
    //% endif
    // an element beyond the last is the last one again: no load waits for another
    //% for e in range(EACH)
    let loaded${e} = element(x_at, min(row + ${e * ROWS}u, params.count - 1u));
    //% endfor
    //% for e in range(EACH)
    //% if WIDE
    //% for c in range(4)
    total = maximum_f(total, loaded${e}[${c}]);
    //% endfor
    //% elif PLAIN
    total = maximum_f(total, loaded${e});
    //% else
    part = larger(part, Part(loaded${e}, 0.0, min(row + ${e * ROWS}u, params.count - 1u)));
    //% endif
    //% endfor
    //% if PLAIN
    ${tree("total", "maximum_f")}
    part.top = total;
    total = 0.0;
    //% for e in range(EACH)
    //% if WIDE
    let weight${e} = vec4f(
        //% for c in range(4)
        precise_exp(loaded${e}[${c}] - part.top),
        //% endfor
    );
    total += select(0.0, dot(weight${e}, vec4f(1.0)), row + ${e * ROWS}u < params.count);
    //% else
    let weight${e} = precise_exp(loaded${e} - part.top);
    total += select(0.0, weight${e}, row + ${e * ROWS}u < params.count);
    //% endif
    //% endfor
    //% if ROWS > 1
    workgroupBarrier();
    //% endif
    ${tree("total", "added")}
    part.sum = total;
    //% else
    ${tree("part", "larger")}
    //% endif
    //% else
    for (var i = row; i < params.count; i += ${ROWS}u) {
        part = merged(part, element(x_at, i), i);
    }
    ${tree("part", "join")}
    //% endif
    if !is_there {
        return;
    }
    //% if KIND == "log"
    let log_sum = precise_log(part.sum);
    //% elif KIND == "soft"
    let scale = 1.0 / part.sum;
    //% endif
    //% macro write(i, value, weight)
        //% if KIND == "soft"
        let result = ${weight} * scale;
        //% elif KIND == "log"
        let result = (${value} - part.top) - log_sum;
        //% else
        let result = select(0.0, 1.0, ${i} == part.at);
        //% endif
        //% if WIDE
        out[u32(out_at) / 4u + ${i}] = vec4<${OUT}>(result);
        //% else
        out[u32(out_at + i32(${i}) * params.out_step)] = ${OUT}(result);
        //% endif
    //%- endmacro
    //% if EACH
    //% for e in range(EACH)
    if row + ${e * ROWS}u < params.count {
        ${write("(row + " ~ e * ROWS ~ "u)", "loaded" ~ e, "weight" ~ e)}
    }
    //% endfor
    //% else
    for (var i = row; i < params.count; i += ${ROWS}u) {
        let value = element(x_at, i);
        ${write("i", "value", "precise_exp(value - part.top)")}
    }
    //% endif
}
