// Adds up what the workgroups of ops/mlp_backward.wgsl found for the weights of a network, always in the same order.
// In: SECTIONS, of each layer's weights: (offset in a row, lines of inputs, lines of outputs, rows of lines that an
//     invocation took, parts of the points, inputs and outputs that are real, offset in the result, whether inputs and
//     whether outputs come in the order of lines); BIASES, of each layer's: (offset in a row, lines, parts, outputs that
//     are real, offset in the result, whether they come in the order of lines); SIZE of a row; partial, params.groups rows.
// Out: flat, of one layer after the other the weights (outputs, inputs) and the biases.
//% set OFFSET = namespace(at=0)

struct Params {
    groups: u32,
    flat_offset: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> partial: array<f32>;
@group(0) @binding(2) var<storage, read_write> flat: array<f32>;

const ELEMENTS = 32u;
const SLICES = 8u;
const NOWHERE = 0xffffffffu;

var<workgroup> partial_sums: array<f32, 256>;

// The offset of an element in a row, how far its other parts are, how many there are, and where it belongs.
struct Source {
    offset: u32,
    step: u32,
    parts: u32,
    target_: u32,
}

fn neuron(line: u32, lines: u32) -> u32 {
    let quads = lines / 4u;
    return line % quads * 4u + line / quads;
}

fn source(element: u32) -> Source {
    //% for at, ins, outs, rows, parts, inputs, outputs, target, inner, outer in SECTIONS
    if element < ${OFFSET.at + ins * outs}u {
        let local = element - ${OFFSET.at}u;
        let tile = local / ${4 * rows}u;
        let in_line = tile % ${ins // rows}u + local / 4u % ${rows}u * ${ins // rows}u;
        let out_line = tile / ${ins // rows}u + local % 4u * ${outs // 4}u;
        let input = ${"neuron(in_line, " ~ ins ~ "u)" if inner else "in_line"};
        let output = ${"neuron(out_line, " ~ outs ~ "u)" if outer else "out_line"};
        let there = input < ${inputs}u && output < ${outputs}u;
        let target_ = select(NOWHERE, ${target}u + output * ${inputs}u + input, there);
        return Source(${at}u + local, ${ins * outs}u, ${parts}u, target_);
    }
    //% set OFFSET.at = OFFSET.at + ins * outs
    //% endfor
    //% for at, lines, parts, outputs, target, ordered in BIASES
    if element < ${OFFSET.at + lines}u {
        let local = element - ${OFFSET.at}u;
        let output = ${"neuron(local, " ~ lines ~ "u)" if ordered else "local"};
        return Source(${at}u + local, ${lines}u, ${parts}u, select(NOWHERE, ${target}u + output, output < ${outputs}u));
    }
    //% set OFFSET.at = OFFSET.at + lines
    //% endfor
    return Source(0u, 0u, 0u, NOWHERE);
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let found = source(group.x * ELEMENTS + lane % ELEMENTS);
    var total = 0.0;
    if found.target_ != NOWHERE {
        for (var row = lane / ELEMENTS; row < params.groups; row += SLICES) {
            let begin = row * ${SIZE}u + found.offset;
            for (var part = 0u; part < found.parts; part += 1u) {
                total += partial[begin + part * found.step];
            }
        }
    }
    partial_sums[lane] = total;
    workgroupBarrier();
    if lane < ELEMENTS && found.target_ != NOWHERE {
        for (var slice = 1u; slice < SLICES; slice += 1u) {
            total += partial_sums[slice * ELEMENTS + lane];
        }
        flat[params.flat_offset + found.target_] = total;
    }
}
