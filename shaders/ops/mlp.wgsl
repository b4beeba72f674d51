// A whole small network: all layers of POINTS points by one workgroup, whose activations never leave it. Activations
// are in workgroup memory, a line of all points for each neuron. Each invocation makes EACH_NEURONS neurons of
// EACH_POINTS points, as sums that the template writes out. Weights come through workgroup memory too, STAGE inputs at
// a time in two buffers that take turns: after LATE inputs the next stage goes from registers into the other one, and
// the stage after that is fetched (after the last one the last is fetched again, without use). With STAGE = 0 they are read
// from where they are stored, UNROLL inputs in each turn of the loop. A last layer of few outputs is computed from the
// sums of the layer before it.
// In: INPUTS, features of a point, padded to a multiple of 4; HIDDEN, number of hidden layers; WIDTH of each, a
//     multiple of EACH_NEURONS and of 2 STAGE; OUTPUTS, padded to a multiple of 4; LAST_WIDE, whether the last layer is
//     computed as the others are, padded to WIDTH outputs; the sizes above; LANES, how many invocations of a row of 32 are
//     side by side along the neurons; X, WEIGHTS, OUT, dtypes; ACTIVATION and LAST, expressions over `x`, as
//     ops/activation.py writes them; REAL_INPUTS, features before padding; what common/encoding.wgsl names, TABLES,
//     COUNT, INCLUDE and LEVELS. weights and biases, packed by ops/mlp.py: [in][out] of each layer, a wide layer's
//     inputs in the order in which the lines of the layer before it are stored: line j * WIDTH / 4 + i is neuron 4 i + j.
// Out: out (points, outputs).
//% import "common/outer.wgsl" as outer
//% if "f16" in (X, WEIGHTS, OUT, TABLES)
enable f16;
//% endif
//% set QUADS = WIDTH // 4
//% set ACROSS = WIDTH // EACH_NEURONS
//% set DOWN = POINTS // EACH_POINTS
//% set THREADS = ACROSS * DOWN
//% set POINT_QUADS = POINTS // 4
//% set LINE = POINT_QUADS + 1
//% set LINES = [INPUTS, WIDTH] | max
//% set PART = POINTS + 1
//% set BATCH = STAGE * QUADS
//% set LATE = STAGE * 3 // 4
//% set TURNS = (BATCH + THREADS - 1) // THREADS
//% set WIDE_LAYERS = HIDDEN + (1 if LAST_WIDE else 0)
//% set FIRST_STAGED = STAGE > 0 and INPUTS % (2 * STAGE) == 0
//% set BEGIN = 0 if FIRST_STAGED else INPUTS * QUADS
//% set END = (INPUTS + (WIDE_LAYERS - 1) * WIDTH) * QUADS
//% set STAGED = STAGE > 0 and END > BEGIN
//% set COORDINATES = (POINTS * REAL_INPUTS + THREADS - 1) // THREADS
//% set ROLLED = EACH_NEURONS * EACH_POINTS > 128
//% set AHEAD = ENCODING == "" and COORDINATES <= 8
//% include "common/math.wgsl"
//% include "common/activation.wgsl"

struct Params {
    count: u32,
    outputs: u32,
    x_offset: u32,
    out_offset: u32,
    tables_offset: u32,
    x_strides: vec2i,    // from point to point, from coordinate to coordinate
    out_strides: vec2i,
    activation: vec2f,   // parameters of the activations
    last: vec2f,
    resolutions: array<vec4u, 8>,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<${X}>;
@group(0) @binding(2) var<storage, read> weights: array<vec4<${WEIGHTS}>>;
@group(0) @binding(3) var<storage, read> biases: array<f32>;
@group(0) @binding(4) var<storage, read_write> out: array<${OUT}>;
//% if ENCODING == "hash"
@group(0) @binding(5) var<storage, read> tables: array<${{1: TABLES, 2: "vec2<" ~ TABLES ~ ">", 4: "vec4<" ~ TABLES ~ ">"}[FEATURES]}>;
//% endif
//% include "common/encoding.wgsl"

// A quad of padding on each line avoids bank conflicts. Partial sums of the last layer's outputs are here in the end.
var<workgroup> signal: array<vec4f, ${[LINES * LINE, 0 if LAST_WIDE else ACROSS * PART] | max}>;
//% if STAGED
var<workgroup> staged: array<vec4f, ${2 * BATCH}>;
//% endif

fn activate(x: f32) -> f32 {
    return ${ACTIVATION};
}

fn finish(x: f32) -> f32 {
    return ${LAST};
}

// A point beyond the last one is the last one.
fn coordinate(point: u32, axis: u32) -> f32 {
    let inside = i32(min(point, params.count - 1u));
    return f32(x[i32(params.x_offset) + inside * params.x_strides.x + i32(axis) * params.x_strides.y]);
}

fn write(point: u32, output: u32, value: f32) {
    if point < params.count && output < params.outputs {
        let element = i32(params.out_offset) + i32(point) * params.out_strides.x + i32(output) * params.out_strides.y;
        out[element] = ${OUT}(value);
    }
}

fn put(feature: u32, point: u32, value: f32) {
    signal[feature * ${LINE}u + point / 4u][point % 4u] = value;
}

// What the inputs from `inputs_at` on do to the sums, by their weights from `weights_at` on.
//% macro multiply(steps, inputs_at, weights_at)
//% for step in steps
{
    //% for n in range(EACH_NEURONS // 4)
    let left${n} = vec4f(${weights_at}${step * QUADS + n * ACROSS}u]);
    //% endfor
    //% for q in range(EACH_POINTS // 4)
    let right${q} = signal[${inputs_at} + ${step * LINE + q * DOWN}u];
    //% endfor
    ${outer.accumulate(EACH_NEURONS, EACH_POINTS // 4, "f32")}
}
//% endfor
//%- endmacro

//% macro fetch()
//% for turn in range(TURNS)
//% if BATCH < (turn + 1) * THREADS
next${turn} = vec4f(weights[min(coming + lane + ${turn * THREADS}u, ${END - 1}u)]);
//% else
next${turn} = vec4f(weights[coming + lane + ${turn * THREADS}u]);
//% endif
//% endfor
coming = min(coming + ${BATCH}u, ${END - BATCH}u);
//%- endmacro

//% macro stage(buffer)
//% for turn in range(TURNS)
//% if BATCH < (turn + 1) * THREADS
if lane + ${turn * THREADS}u < ${BATCH}u {
//%- else
{
//%- endif
    staged[lane + ${buffer * BATCH + turn * THREADS}u] = next${turn};
}
//% endfor
//%- endmacro

// Sums begin as biases; this stands before a barrier, so that they are loaded meanwhile.
//% macro begin()
//% for n in range(EACH_NEURONS)
{
    let start = biases[bias + 4u * (my_neuron + ${n // 4 * ACROSS}u) + ${n % 4}u];
    //% for q in range(EACH_POINTS // 4)
    //% for j in range(4)
    sum${n}_${q}_${j} = start;
    //% endfor
    //% endfor
}
//% endfor
bias += ${WIDTH}u;
//%- endmacro

// All of a layer's sums; afterwards nobody reads the signal any more.
//% macro dense(inputs, staged)
//% set few = [UNROLL, 8 if inputs % 8 == 0 else 4] | min
//% if staged
for (var c = 0u; c < ${inputs // STAGE}u; c += 2u) {
    //% for here in (0, 1)
    {
        let inputs_at = c * ${STAGE * LINE}u + my_point + ${here * STAGE * LINE}u;
        ${multiply(range(LATE), "inputs_at", "staged[my_neuron + " ~ here * BATCH ~ "u + ")}
        ${stage(1 - here)}
        ${fetch()}
        ${multiply(range(LATE, STAGE), "inputs_at", "staged[my_neuron + " ~ here * BATCH ~ "u + ")}
        workgroupBarrier();
    }
    //% endfor
}
//% else
for (var k = 0u; k < ${inputs}u; k += ${few}u) {
    ${multiply(range(few), "k * " ~ LINE ~ "u + my_point", "weights[at + k * " ~ QUADS ~ "u + my_neuron + ")}
}
workgroupBarrier();
//% endif
at += ${inputs * QUADS}u;
//%- endmacro

// The input of the next layer: the activations of the sums. Those of many sums are in a loop, which is compiled sooner.
//% macro activated_signal()
//% for n in range(EACH_NEURONS)
//% for q in range(EACH_POINTS // 4)
signal[(my_neuron + ${n % 4 * QUADS + n // 4 * ACROSS}u) * ${LINE}u + my_point + ${q * DOWN}u] = vec4f(
    //% for j in range(4)
    ${"" if ROLLED else "activate"}(sum${n}_${q}_${j}),
    //% endfor
);
//% endfor
//% endfor
//% if ROLLED
for (var n = 0u; n < ${EACH_NEURONS}u; n += 1u) {
    let line = (my_neuron + n % 4u * ${QUADS}u + n / 4u * ${ACROSS}u) * ${LINE}u + my_point;
    for (var q = line; q < line + ${EACH_POINTS // 4 * DOWN}u; q += ${DOWN}u) {
        let x = signal[q];
        signal[q] = vec4f(activate(x.x), activate(x.y), activate(x.z), activate(x.w));
    }
}
//% endif
//%- endmacro

//% macro activations()
${activated_signal()}
${begin()}
workgroupBarrier();
//%- endmacro

@compute @workgroup_size(${THREADS})
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let first = (group.y * num_workgroups.x + group.x) * ${POINTS}u;
    if first >= params.count {
        return;
    }
    //% if ACROSS % LANES == 0 and DOWN % (32 // LANES) == 0
    let block = lane / 32u;
    let my_point = block / ${ACROSS // LANES}u * ${32 // LANES}u + lane % 32u / ${LANES}u;
    let my_neuron = block % ${ACROSS // LANES}u * ${LANES}u + lane % ${LANES}u;
    //% else
    let my_point = lane / ${ACROSS}u;
    let my_neuron = lane % ${ACROSS}u;
    //% endif
    //% if AHEAD
    //% for turn in range(COORDINATES)
    let point${turn} = (lane + ${turn * THREADS}u) / ${REAL_INPUTS}u;
    let axis${turn} = (lane + ${turn * THREADS}u) % ${REAL_INPUTS}u;
    var ahead${turn} = coordinate(first + point${turn}, axis${turn});
    //% endfor
    //% endif
    //% if STAGED
    var coming = ${BEGIN}u;
    //% for turn in range(TURNS)
    var next${turn}: vec4f;
    //% endfor
    ${fetch()}
    ${stage(0)}
    ${fetch()}
    //% endif
    ${outer.declare(EACH_NEURONS, EACH_POINTS // 4, "f32")}

    var at = 0u;
    var bias = 0u;
    //% if ENCODING == "frequency"
    for (var i = lane; i < ${POINTS * DIMENSIONS}u; i += ${THREADS}u) {
        let point = i / ${DIMENSIONS}u;
        let axis = i % ${DIMENSIONS}u;
        var turns = coordinate(first + point, axis);
        //% if INCLUDE
        put(axis, point, turns);
        //% endif
        for (var f = 0u; f < ${COUNT}u; f += 1u) {
            let feature = ${DIMENSIONS if INCLUDE else 0}u + f * ${2 * DIMENSIONS}u + axis;
            put(feature, point, sin_half_turns(turns));
            put(feature + ${DIMENSIONS}u, point, cos_half_turns(turns));
            turns *= 2.0;
        }
    }
    //% elif ENCODING == "hash"
    for (var i = lane; i < ${POINTS * LEVELS}u; i += ${THREADS}u) {
        let point = i % ${POINTS}u;
        let level = i / ${POINTS}u;
        let coordinates = array<f32, ${DIMENSIONS}>(
            //% for d in range(DIMENSIONS)
            coordinate(first + point, ${d}u),
            //% endfor
        );
        let features = level_features(coordinates, level);
        //% for n in range(FEATURES)
        put(level * ${FEATURES}u + ${n}u, point, features${"[" ~ n ~ "]" if FEATURES > 1 else ""});
        //% endfor
    }
    //% elif AHEAD
    //% for turn in range(COORDINATES)
    //% if POINTS * REAL_INPUTS < (turn + 1) * THREADS
    if point${turn} < ${POINTS}u {
        put(axis${turn}, point${turn}, ahead${turn});
    }
    //% else
    put(axis${turn}, point${turn}, ahead${turn});
    //% endif
    //% endfor
    //% else
    for (var i = lane; i < ${POINTS * REAL_INPUTS}u; i += ${THREADS}u) {
        put(i % ${REAL_INPUTS}u, i / ${REAL_INPUTS}u, coordinate(first + i / ${REAL_INPUTS}u, i % ${REAL_INPUTS}u));
    }
    //% endif
    //% if INPUTS > REAL_INPUTS
    for (var i = lane; i < ${(INPUTS - REAL_INPUTS) * LINE}u; i += ${THREADS}u) {
        signal[${REAL_INPUTS * LINE}u + i] = vec4f();
    }
    //% endif
    ${begin()}
    workgroupBarrier();

    ${dense(INPUTS, FIRST_STAGED)}
    //% if WIDE_LAYERS > 1
    for (var layer = 1u; layer < ${WIDE_LAYERS}u; layer += 1u) {
        ${activations()}
        ${dense(WIDTH, STAGED)}
    }
    //% endif
    //% if LAST_WIDE
    //% for n in range(EACH_NEURONS)
    //% for q in range(EACH_POINTS // 4)
    {
        let output = 4u * (my_neuron + ${n // 4 * ACROSS}u) + ${n % 4}u;
        let point = first + 4u * (my_point + ${q * DOWN}u);
        //% for j in range(4)
        write(point + ${j}u, output, finish(sum${n}_${q}_${j}));
        //% endfor
    }
    //% endfor
    //% endfor
    //% else
    //% if ROLLED
    ${activated_signal()}
    workgroupBarrier();
    for (var i = lane; i < ${POINT_QUADS * OUTPUTS // 4}u; i += ${THREADS}u) {
        let quad = i % ${POINT_QUADS}u;
        let output = i / ${POINT_QUADS}u * 4u;
        //% for j in range(4)
        var total${j} = vec4f(biases[bias + output], biases[bias + output + 1u], biases[bias + output + 2u], biases[bias + output + 3u]);
        //% endfor
        for (var line = 0u; line < ${WIDTH}u; line += 1u) {
            let neuron = line % ${QUADS}u * 4u + line / ${QUADS}u;
            let w = vec4f(weights[at + (neuron * ${OUTPUTS}u + output) / 4u]);
            let x = signal[line * ${LINE}u + quad];
            //% for j in range(4)
            total${j} = fma(vec4f(x[${j}]), w, total${j});
            //% endfor
        }
        for (var k = 0u; k < 4u; k += 1u) {
            //% for j in range(4)
            write(first + 4u * quad + ${j}u, output + k, finish(total${j}[k]));
            //% endfor
        }
    }
    //% else
    //% for n in range(EACH_NEURONS)
    //% for q in range(EACH_POINTS // 4)
    //% for j in range(4)
    sum${n}_${q}_${j} = activate(sum${n}_${q}_${j});
    //% endfor
    //% endfor
    //% endfor
    for (var output = 0u; output < ${OUTPUTS}u; output += 4u) {
        {
            //% for n in range(EACH_NEURONS)
            let neuron${n} = 4u * (my_neuron + ${n // 4 * ACROSS}u) + ${n % 4}u;
            let w${n} = vec4f(weights[at + (neuron${n} * ${OUTPUTS}u + output) / 4u]);
            //% endfor
            //% for q in range(EACH_POINTS // 4)
            //% for j in range(4)
            var partial${q}_${j} = sum0_${q}_${j} * w0;
            //% for n in range(1, EACH_NEURONS)
            partial${q}_${j} = fma(vec4f(sum${n}_${q}_${j}), w${n}, partial${q}_${j});
            //% endfor
            signal[my_neuron * ${PART}u + 4u * (my_point + ${q * DOWN}u) + ${j}u] = partial${q}_${j};
            //% endfor
            //% endfor
        }
        workgroupBarrier();
        for (var point = lane; point < ${POINTS}u; point += ${THREADS}u) {
            var total = vec4f(
                //% for j in range(4)
                biases[bias + output + ${j}u],
                //% endfor
            );
            //% for part in range(ACROSS)
            total += signal[${part * PART}u + point];
            //% endfor
            //% for j in range(4)
            write(first + point, output + ${j}u, finish(total[${j}]));
            //% endfor
        }
        workgroupBarrier();
    }
    //% endif
    //% endif
}
