// Gradients of a whole small network, back through all layers: of its weights, and of its features if they are requested.
// Each workgroup takes POINTS points at a time, in a run from one tile to the next of its own: it computes the sums of
// all hidden layers, each invocation storing its own, then propagates the gradient of the outputs back. Two
// layers' worth is in workgroup memory: activations of a layer's inputs, and gradients of its outputs, a line of all
// points for each neuron. What a layer's weights get is added up in registers, every invocation the products of some
// lines with some others, over all tiles, and written once in the end: one row of `partial` for each workgroup.
// ops/mlp_join.wgsl adds up the rows. No order depends on time: the same input gives the same bits.
// In: INPUTS, features padded to a multiple of 4, REAL_INPUTS of them real; HIDDEN, layers of WIDTH neurons, one at
//     least; FINAL, outputs padded to a multiple of 4; POINTS, EACH_POINTS, EACH_NEURONS and LANES as in ops/mlp.wgsl;
//     ROWS, lines of inputs that an invocation multiplies by 4 lines of gradients (FIRST_ROWS of the first layer);
//     CHUNKS and BIAS_CHUNKS, into how many parts the points are divided for it, of the first, the wide and the last
//     layer; UNROLLED, whether layers are written out, so that all that is added up can stay in registers;
//     WITH_FEATURES, whether gradients of the features are; X and WEIGHTS, dtypes; ACTIVATION and DERIVATIVE, its
//     derivative, expressions over `x`; weights, and rest, as ops/mlp_pack.wgsl lays them out, turned weights from
//     RIGHT on.
// Out: partial, a row of SIZE for each workgroup; features (points, REAL_INPUTS), in order.
//% import "common/outer.wgsl" as outer
//% if "f16" in (X, WEIGHTS)
enable f16;
//% endif
//% set QUADS = WIDTH // 4
//% set ACROSS = WIDTH // EACH_NEURONS
//% set DOWN = POINTS // EACH_POINTS
//% set THREADS = ACROSS * DOWN
//% set POINT_QUADS = POINTS // 4
//% set LINE = POINT_QUADS + 1
//% set OWN = EACH_NEURONS * EACH_POINTS // 4
//% set WIDE = HIDDEN - 1
//% set TURNED = RIGHT // 4
//% set LAST_TURNED = TURNED + WIDE * WIDTH * QUADS
//% set FIRST_TURNED = LAST_TURNED + FINAL * QUADS
//% set FIRST_ITEMS = INPUTS // FIRST_ROWS * QUADS * CHUNKS[0]
//% set WIDE_ITEMS = WIDTH // ROWS * QUADS * CHUNKS[1]
//% set LAST_ITEMS = WIDTH // ROWS * (FINAL // 4) * CHUNKS[2]
//% set FIRST_TURNS = (FIRST_ITEMS + THREADS - 1) // THREADS
//% set WIDE_TURNS = (WIDE_ITEMS + THREADS - 1) // THREADS
//% set LAST_TURNS = (LAST_ITEMS + THREADS - 1) // THREADS
//% set BIAS_ITEMS = WIDTH * BIAS_CHUNKS[0]
//% set LAST_BIAS_ITEMS = FINAL * BIAS_CHUNKS[1]
//% set BIAS_TURNS = (BIAS_ITEMS + THREADS - 1) // THREADS
//% set LAST_BIAS_TURNS = (LAST_BIAS_ITEMS + THREADS - 1) // THREADS
//% set BIASES_AT = 4 * (FIRST_ITEMS * FIRST_ROWS + (WIDE * WIDE_ITEMS + LAST_ITEMS) * ROWS)
//% import "common/mlp_layers.wgsl" as layers with context
//% import "common/mlp_weight_sums.wgsl" as sums with context
//% include "common/math.wgsl"
//% include "common/activation.wgsl"
//% include "common/derivative.wgsl"

struct Params {
    count: u32,
    outputs: u32,
    x_offset: u32,
    gradient_offset: u32,
    x_strides: vec2i,    // from point to point, from feature to feature
    gradient_strides: vec2i,
    activation: vec2f,   // its parameters
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<${X}>;
@group(0) @binding(2) var<storage, read> weights: array<vec4<${WEIGHTS}>>;
@group(0) @binding(3) var<storage, read> rest: array<vec4f>;
@group(0) @binding(4) var<storage, read> gradient: array<f32>;
@group(0) @binding(5) var<storage, read_write> partial: array<f32>;
//% if WITH_FEATURES
@group(0) @binding(6) var<storage, read_write> features: array<f32>;
//% endif

// A quad of padding on each line avoids bank conflicts.
var<workgroup> inputs: array<vec4f, ${([INPUTS, WIDTH] | max) * LINE}>;
var<workgroup> gradient_tile: array<vec4f, ${([FINAL, WIDTH] | max) * LINE}>;

fn activate(x: f32) -> f32 {
    return ${ACTIVATION};
}

fn derivative(x: f32) -> f32 {
    return ${DERIVATIVE};
}

// Padding is 0; a point beyond the last one is the last one, and its gradient 0.
fn load_inputs(first: u32, lane: u32) {
    for (var i = lane; i < ${POINTS * INPUTS}u; i += ${THREADS}u) {
        let point = i / ${INPUTS}u;
        let feature = i % ${INPUTS}u;
        let row = i32(min(first + point, params.count - 1u));
        var value = 0.0;
        if feature < ${REAL_INPUTS}u {
            value = f32(x[i32(params.x_offset) + row * params.x_strides.x + i32(feature) * params.x_strides.y]);
        }
        inputs[feature * ${LINE}u + point / 4u][point % 4u] = value;
    }
}

fn load_gradient(first: u32, lane: u32) {
    for (var i = lane; i < ${POINTS * FINAL}u; i += ${THREADS}u) {
        let point = i / ${FINAL}u;
        let output = i % ${FINAL}u;
        let row = i32(first + point);
        var value = 0.0;
        if output < params.outputs && first + point < params.count {
            let row_start = i32(params.gradient_offset) + row * params.gradient_strides.x;
            value = gradient[row_start + i32(output) * params.gradient_strides.y];
        }
        gradient_tile[output * ${LINE}u + point / 4u][point % 4u] = value;
    }
}

// One wide layer, forward and back. `layer`, a number or a variable, counts from 1; afterwards `inputs` has what the
// input of the layer before it.
//% macro forward(layer)
${layers.begin(layer)}
${layers.product(WIDTH, "inputs", "weights", INPUTS * QUADS ~ "u + (" ~ layer ~ " - 1u) * " ~ WIDTH * QUADS ~ "u")}
workgroupBarrier();
${layers.store_sums(layer)}
${layers.put_activations(layer)}
workgroupBarrier();
//%- endmacro

//% macro back(layer)
${sums.weigh("wide", "(" ~ layer ~ " - 1u) * " ~ WIDE_TURNS * ROWS ~ "u", WIDTH, WIDTH, ROWS, CHUNKS[1])}
${sums.weigh_biases("biases", layer ~ " * " ~ BIAS_TURNS ~ "u", WIDTH, BIAS_CHUNKS[0])}
${layers.begin(none)}
${layers.product(WIDTH, "gradient_tile", "rest", TURNED ~ "u + (" ~ layer ~ " - 1u) * " ~ WIDTH * QUADS ~ "u")}
workgroupBarrier();
${layers.put_gradient("(" ~ layer ~ " - 1u)")}
//% if layer is string
if ${layer} > 1u {
    ${layers.put_activations("(" ~ layer ~ " - 2u)")}
} else {
    load_inputs(first, lane);
}
//% elif layer > 1
${layers.put_activations(layer - 2)}
//% else
load_inputs(first, lane);
//% endif
workgroupBarrier();
//%- endmacro

@compute @workgroup_size(${THREADS})
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    //% if ACROSS % LANES == 0 and DOWN % (32 // LANES) == 0
    let block = lane / 32u;
    let my_point = block / ${ACROSS // LANES}u * ${32 // LANES}u + lane % 32u / ${LANES}u;
    let my_neuron = block % ${ACROSS // LANES}u * ${LANES}u + lane % ${LANES}u;
    //% else
    let my_point = lane / ${ACROSS}u;
    let my_neuron = lane % ${ACROSS}u;
    //% endif
    ${outer.declare(EACH_NEURONS, EACH_POINTS // 4, "f32")}
    var stored: array<vec4f, ${HIDDEN * OWN}>;
    var narrow: array<vec4f, ${FIRST_TURNS * FIRST_ROWS}>;
    //% if WIDE
    var wide: array<vec4f, ${WIDE * WIDE_TURNS * ROWS}>;
    //% endif
    var final_: array<vec4f, ${LAST_TURNS * ROWS}>;
    var biases: array<f32, ${HIDDEN * BIAS_TURNS}>;
    var final_biases: array<f32, ${LAST_BIAS_TURNS}>;

    for (var first = group.x * ${POINTS}u; first < params.count; first += groups.x * ${POINTS}u) {
        load_inputs(first, lane);
        load_gradient(first, lane);
        ${layers.begin("0u")}
        workgroupBarrier();
        ${layers.product(INPUTS, "inputs", "weights", "0u")}
        workgroupBarrier();
        ${layers.store_sums("0u")}
        ${layers.put_activations("0u")}
        workgroupBarrier();
        //% if UNROLLED
        //% for layer in range(1, HIDDEN)
        ${forward(layer)}
        //% endfor
        //% elif WIDE
        for (var layer = 1u; layer < ${HIDDEN}u; layer += 1u) {
            ${forward("layer")}
        }
        //% endif

        ${sums.weigh("final_", "0u", WIDTH, FINAL, ROWS, CHUNKS[2])}
        ${sums.weigh_biases("final_biases", "0u", FINAL, BIAS_CHUNKS[1])}
        ${layers.begin(none)}
        ${layers.product(FINAL, "gradient_tile", "rest", LAST_TURNED ~ "u")}
        workgroupBarrier();
        ${layers.put_gradient(WIDE ~ "u")}
        //% if WIDE
        ${layers.put_activations((WIDE - 1) ~ "u")}
        //% else
        load_inputs(first, lane);
        //% endif
        workgroupBarrier();
        //% if UNROLLED
        //% for layer in range(HIDDEN - 1, 0, -1)
        ${back(layer)}
        //% endfor
        //% elif WIDE
        for (var layer = ${WIDE}u; layer > 0u; layer -= 1u) {
            ${back("layer")}
        }
        //% endif
        ${sums.weigh("narrow", "0u", INPUTS, WIDTH, FIRST_ROWS, CHUNKS[0])}
        ${sums.weigh_biases("biases", "0u", WIDTH, BIAS_CHUNKS[0])}
        //% if WITH_FEATURES
        for (var i = lane; i < ${INPUTS // 4 * POINT_QUADS}u; i += ${THREADS}u) {
            let at = i % ${INPUTS // 4}u;
            let quad = i / ${INPUTS // 4}u;
            //% for j in range(4)
            var found${j} = vec4f();
            //% endfor
            for (var k = 0u; k < ${WIDTH}u; k += 1u) {
                let left = rest[${FIRST_TURNED}u + k * ${INPUTS // 4}u + at];
                let right = gradient_tile[k * ${LINE}u + quad];
                //% for j in range(4)
                found${j} = fma(left, vec4f(right[${j}]), found${j});
                //% endfor
            }
            //% for j in range(4)
            //% for n in range(4)
            if first + quad * 4u + ${j}u < params.count && at * 4u + ${n}u < ${REAL_INPUTS}u {
                features[(first + quad * 4u + ${j}u) * ${REAL_INPUTS}u + at * 4u + ${n}u] = found${j}[${n}];
            }
            //% endfor
            //% endfor
        }
        //% endif
        workgroupBarrier();
    }

    let row = group.x * ${SIZE}u;
    ${sums.write("narrow", "0u", "row", FIRST_ITEMS, FIRST_ROWS)}
    //% if WIDE
    for (var layer = 0u; layer < ${WIDE}u; layer += 1u) {
        ${sums.write("wide", "layer * " ~ WIDE_TURNS * ROWS ~ "u", "row + " ~ 4 * FIRST_ITEMS * FIRST_ROWS ~ "u + layer * " ~ 4 * WIDE_ITEMS * ROWS ~ "u", WIDE_ITEMS, ROWS)}
    }
    //% endif
    ${sums.write("final_", "0u", "row + " ~ 4 * (FIRST_ITEMS * FIRST_ROWS + WIDE * WIDE_ITEMS * ROWS) ~ "u", LAST_ITEMS, ROWS)}
    for (var layer = 0u; layer < ${HIDDEN}u; layer += 1u) {
        ${sums.write_biases("biases", "layer * " ~ BIAS_TURNS ~ "u", "row + " ~ BIASES_AT ~ "u + layer * " ~ BIAS_ITEMS ~ "u", BIAS_ITEMS)}
    }
    ${sums.write_biases("final_biases", "0u", "row + " ~ (BIASES_AT + HIDDEN * BIAS_ITEMS) ~ "u", LAST_BIAS_ITEMS)}
}
