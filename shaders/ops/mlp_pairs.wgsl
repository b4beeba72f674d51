// A whole small network as in ops/mlp.wgsl, for many points: two invocations of a subgroup have four points together,
// whose activations are in their registers, each half of the neurons of a layer. Only weights and biases are in workgroup
// memory, those of all layers, loaded once: a workgroup takes THREADS / 2 pairs' points at a time, in a run from one tile to the
// next of its own.
// Neuron 4 i + 2 l + n of four is with lane l of a pair. It adds up what its inputs give to all four neurons of a group:
// to its own two in slots 0 and 1, to those of the other lane, whose weights are stored in this order, in slots 2 and 3.
// The sums of a group go to an array that is indexed at run time, and from there back into registers.
// In: INPUTS, REAL_INPUTS, HIDDEN, WIDTH, OUTPUTS, X, WEIGHTS, OUT, ACTIVATION, LAST as in ops/mlp.wgsl, which says how
//     weights and biases are packed; THREADS; SUBGROUP, invocations of one.
// Out: out (points, outputs).
//% if "f16" in (X, WEIGHTS, OUT)
enable f16;
//% endif
//% include "common/math.wgsl"
//% include "common/activation.wgsl"
//% set GROUPS = WIDTH // 4
//% set POINTS = 2 * THREADS
//% set FIRST = INPUTS * GROUPS
//% set WIDE = WIDTH * GROUPS
//% set LAST_AT = FIRST + (HIDDEN - 1) * WIDE
//% set FINAL = OUTPUTS // 4
//% set BIAS_PAIRS = HIDDEN * WIDTH // 2 + 2 * FINAL

struct Params {
    count: u32,
    outputs: u32,
    x_offset: u32,
    out_offset: u32,
    x_strides: vec2i,    // from point to point, from coordinate to coordinate
    out_strides: vec2i,
    activation: vec2f,   // parameters of the activations
    last: vec2f,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<${X}>;
@group(0) @binding(2) var<storage, read> weights: array<vec4<${WEIGHTS}>>;
@group(0) @binding(3) var<storage, read> biases: array<f32>;
@group(0) @binding(4) var<storage, read_write> out: array<${OUT}>;

// Of each layer, for each input of a lane, each group of four neurons and each lane: the weights.
var<workgroup> staged: array<vec4f, ${LAST_AT + WIDTH * FINAL}>;
// Of each group of four neurons and each lane: the biases of its two.
var<workgroup> staged_biases: array<vec2f, ${BIAS_PAIRS}>;

fn activate(x: f32) -> f32 {
    return ${ACTIVATION};
}

fn finish(x: f32) -> f32 {
    return ${LAST};
}

fn activated(x: vec4f) -> vec4f {
    return vec4f(activate(x.x), activate(x.y), activate(x.z), activate(x.w));
}

// A point beyond the last one is the last one.
fn coordinate(point: u32, axis: u32) -> f32 {
    let inside = i32(min(point, params.count - 1u));
    return f32(x[i32(params.x_offset) + inside * params.x_strides.x + i32(axis) * params.x_strides.y]);
}

// Quad `at` of a layer of so many groups whose inputs are stored line by line, or in order.
fn stage(first: u32, at: u32, groups: u32, lines: u32) {
    let lane = at % 2u;
    let group = at / 2u % groups;
    let i = at / 2u / groups;
    let neuron = i / 2u * 4u + 2u * lane + i % 2u;
    let line = select(neuron % 4u * (lines / 4u) + neuron / 4u, neuron, lines == 0u);
    let quad = vec4f(weights[first + line * groups + group]);
    staged[first + at] = select(quad, quad.zwxy, lane == 1u);
}

// Sums of the four neurons of a group, of which `sum0` and `sum1` are one's own: what the inputs give, then biases, for
// which nothing waits so.
//% macro sums(inputs, at, groups, group)
let own_biases = staged_biases[bias + 2u * ${group} + lane];
var sum0 = vec4f();
var sum1 = vec4f();
var sum2 = vec4f();
var sum3 = vec4f();
//% for i in range(inputs // 2)
{
    let w = staged[${at} + (${i * groups}u + ${group}) * 2u + lane];
    //% for c in range(4)
    //% for n in range(4)
    //% set p = n if c % 2 == 0 else 3 - n
    sum${c}[${p}] = fma(w[${c}], signal${i}[${p}], sum${c}[${p}]);
    //% endfor
    //% endfor
}
//% endfor
sum0 += subgroupShuffleXor(sum2, 1u) + own_biases.x;
sum1 += subgroupShuffleXor(sum3, 1u) + own_biases.y;
//%- endmacro

//% macro layer(inputs, at)
for (var group = 0u; group < ${GROUPS}u; group += 1u) {
    ${sums(inputs, at, GROUPS, "group")}
    results[2u * group] = activated(sum0);
    results[2u * group + 1u] = activated(sum1);
}
//% for i in range(WIDTH // 2)
signal${i} = results[${i}];
//% endfor
bias += ${WIDTH // 2}u;
//%- endmacro

@compute @workgroup_size(${THREADS})
fn main(
    @builtin(workgroup_id) workgroup: vec3u,
    @builtin(num_workgroups) workgroups: vec3u,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(subgroup_invocation_id) position: u32,
) {
    let thread = subgroup * ${SUBGROUP}u + position;
    let lane = thread % 2u;
    for (var at = thread; at < ${FIRST}u; at += ${THREADS}u) {
        stage(0u, at, ${GROUPS}u, 0u);
    }
    for (var at = thread; at < ${LAST_AT - FIRST}u; at += ${THREADS}u) {
        stage(${FIRST}u + at / ${WIDE}u * ${WIDE}u, at % ${WIDE}u, ${GROUPS}u, ${WIDTH}u);
    }
    for (var at = thread; at < ${WIDTH * FINAL}u; at += ${THREADS}u) {
        stage(${LAST_AT}u, at, ${FINAL}u, 0u);
    }
    for (var at = thread; at < ${BIAS_PAIRS}u; at += ${THREADS}u) {
        staged_biases[at] = vec2f(biases[2u * at], biases[2u * at + 1u]);
    }
    workgroupBarrier();
    var results: array<vec4f, ${WIDTH // 2}>;
    for (var tile = workgroup.x; tile * ${POINTS}u < params.count; tile += workgroups.x) {
        let first = tile * ${POINTS}u + thread / 2u * 4u;
        //% for i in range([INPUTS, WIDTH] | max // 2)
        var signal${i} = vec4f();
        //% endfor
        //% for i in range(INPUTS // 2)
        {
            let axis = ${i // 2 * 4 + i % 2}u + 2u * lane;
            if axis < ${REAL_INPUTS}u {
                signal${i} = vec4f(
                    //% for p in range(4)
                    coordinate(first + ${p}u, axis),
                    //% endfor
                );
            }
        }
        //% endfor
        var bias = 0u;
        ${layer(INPUTS, "0u")}
        for (var at = ${FIRST}u; at < ${LAST_AT}u; at += ${WIDE}u) {
            ${layer(WIDTH, "at")}
        }
        for (var group = 0u; group < ${FINAL}u; group += 1u) {
            ${sums(WIDTH, LAST_AT ~ "u", FINAL, "group")}
            //% for n in range(2)
            {
                let output = 4u * group + 2u * lane + ${n}u;
                let base = i32(params.out_offset) + i32(first) * params.out_strides.x + i32(output) * params.out_strides.y;
                //% for p in range(4)
                if first + ${p}u < params.count && output < params.outputs {
                    out[base + ${p} * params.out_strides.x] = ${OUT}(finish(sum${n}[${p}]));
                }
                //% endfor
            }
            //% endfor
        }
    }
}
