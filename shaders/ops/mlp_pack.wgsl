// The weights of a small network, laid out for the kernels that work with them: ops/mlp.wgsl and ops/mlp_backward.wgsl.
// In: SIZES, features, neurons of each hidden layer, outputs; LAYERS, (inputs, outputs) of each layer, padded; LAST_WIDE,
//     whether the last layer is padded as the others are; FINAL, outputs padded to a multiple of 4; WEIGHTS, a dtype;
//     RIGHT, where the turned weights begin in `rest`; flat: of one layer after the other the weights (outputs, inputs)
//     and the biases.
// Out: weights: [in][out] of each layer, its inputs in the order of lines (below) but for the first layer, and for a last
//     one that is not wide; rest: the biases, and from RIGHT on the weights turned, [out][in], of the wide layers, the
//     last and the first: outputs in the order of lines but for the last layer's. Padding is 0.
// Line j * n / 4 + i of n lines is neuron 4 i + j: so an invocation's four neurons go to memory banks that its
// neighbors' leave free.
//% set COUNT = LAYERS | length
//% set OFFSETS = namespace(flat=0, out=0)
//% if WEIGHTS == "f16"
enable f16;
//% endif

struct Params {
    flat_offset: u32,
    total: u32,  // of both results
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> flat: array<f32>;
@group(0) @binding(2) var<storage, read_write> weights: array<${WEIGHTS}>;
@group(0) @binding(3) var<storage, read_write> rest: array<f32>;

fn neuron(line: u32, lines: u32) -> u32 {
    let quads = lines / 4u;
    return line % quads * 4u + line / quads;
}

fn weight(at: u32, input: u32, output: u32, inputs: u32, outputs: u32) -> f32 {
    if input >= inputs || output >= outputs {
        return 0.0;
    }
    return flat[params.flat_offset + at + output * inputs + input];
}

fn packed_weight(element: u32) -> f32 {
    //% for inputs, outputs in LAYERS
    //% set plain = loop.first or (loop.last and not LAST_WIDE)
    if element < ${OFFSETS.out + inputs * outputs}u {
        let line = (element - ${OFFSETS.out}u) / ${outputs}u;
        let input = ${"line" if plain else "neuron(line, " ~ inputs ~ "u)"};
        return weight(${OFFSETS.flat}u, input, (element - ${OFFSETS.out}u) % ${outputs}u, ${SIZES[loop.index0]}u, ${SIZES[loop.index]}u);
    }
    //% set OFFSETS.out = OFFSETS.out + inputs * outputs
    //% set OFFSETS.flat = OFFSETS.flat + (SIZES[loop.index0] + 1) * SIZES[loop.index]
    //% endfor
    return 0.0;
}

fn packed_rest(element: u32) -> f32 {
    //% set OFFSETS.out = 0
    //% set OFFSETS.flat = 0
    //% for inputs, outputs in LAYERS
    //% set OFFSETS.flat = OFFSETS.flat + SIZES[loop.index0] * SIZES[loop.index]
    if element < ${OFFSETS.out + outputs}u {
        return weight(${OFFSETS.flat}u, 0u, element - ${OFFSETS.out}u, 1u, ${SIZES[loop.index]}u);
    }
    //% set OFFSETS.out = OFFSETS.out + outputs
    //% set OFFSETS.flat = OFFSETS.flat + SIZES[loop.index]
    //% endfor
    if element < ${RIGHT}u {
        return 0.0;
    }
    //% set OFFSETS.out = RIGHT
    //% set OFFSETS.flat = (SIZES[0] + 1) * SIZES[1]
    //% for inputs, _ in LAYERS[1:]
    //% set outputs = FINAL if loop.last else inputs
    if element < ${OFFSETS.out + inputs * outputs}u {
        let line = (element - ${OFFSETS.out}u) / ${inputs}u;
        let output = ${"line" if loop.last else "neuron(line, " ~ outputs ~ "u)"};
        return weight(${OFFSETS.flat}u, (element - ${OFFSETS.out}u) % ${inputs}u, output, ${SIZES[loop.index]}u, ${SIZES[loop.index + 1]}u);
    }
    //% set OFFSETS.out = OFFSETS.out + inputs * outputs
    //% set OFFSETS.flat = OFFSETS.flat + (SIZES[loop.index] + 1) * SIZES[loop.index + 1]
    //% endfor
    let line = (element - ${OFFSETS.out}u) / ${LAYERS[0][0]}u;
    return weight(0u, (element - ${OFFSETS.out}u) % ${LAYERS[0][0]}u, neuron(line, ${LAYERS[0][1]}u), ${SIZES[0]}u, ${SIZES[1]}u);
}

//% set WHOLE = namespace(n=0)
//% for inputs, outputs in LAYERS
//% set WHOLE.n = WHOLE.n + inputs * outputs
//% endfor
@compute @workgroup_size(128)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x < ${WHOLE.n}u {
        weights[id.x] = ${WEIGHTS}(packed_weight(id.x));
    } else if id.x < params.total {
        rest[id.x - ${WHOLE.n}u] = packed_rest(id.x - ${WHOLE.n}u);
    }
}
