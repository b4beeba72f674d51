// Adds up what the workgroups of ops/mlp_backward.wgsl found for the weights of a network, always in the same order.
// In: SECTIONS, of each layer's weights: (offset in a row, lines of inputs, lines of outputs, rows of lines that an
//     invocation took, parts of the points, inputs and outputs that are real, offset in the result, whether inputs and
//     whether outputs come in the order of lines); BIASES, of each layer's: (offset in a row, lines, parts, outputs that
//     are real, offset in the result, whether they come in the order of lines); SIZE of a row, a multiple of 4; SLICES,
//     invocations that share the rows and parts of four neighboring elements, a power of two; partial, params.groups rows.
// Out: flat, of one layer after the other the weights (outputs, inputs) and the biases.
//% set OFFSET = namespace(at=0)

struct Params {
    groups: u32,
    flat_offset: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> partial: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> flat: array<f32>;

const QUADS = 2u;  // of a workgroup: 32 bytes of each row, which is what memory reads at least
const NOWHERE = 0xffffffffu;
const FOUR = vec4u(0u, 1u, 2u, 3u);

var<workgroup> sums: array<vec4f, ${2 * SLICES}>;

// Four neighboring elements: the quad of a row where they begin, how far their other parts are, how many there are, a
// power of two, and where the elements belong.
struct Source {
    offset: u32,
    step: u32,
    parts: u32,
    targets: vec4u,
}

fn neurons(lines: vec4u, count: u32) -> vec4u {
    let quads = count / 4u;
    return lines % quads * 4u + lines / quads;
}

fn source(quad: u32) -> Source {
    //% for at, ins, outs, rows, parts, inputs, outputs, target, inner, outer in SECTIONS
    if quad < ${(OFFSET.at + ins * outs) // 4}u {
        let local = quad - ${OFFSET.at // 4}u;
        let tile = local / ${rows}u;
        let in_line = vec4u(tile % ${ins // rows}u + local % ${rows}u * ${ins // rows}u);
        let out_lines = tile / ${ins // rows}u + FOUR * ${outs // 4}u;
        let input = ${"neurons(in_line, " ~ ins ~ "u)" if inner else "in_line"};
        let output = ${"neurons(out_lines, " ~ outs ~ "u)" if outer else "out_lines"};
        let there = (input < vec4u(${inputs}u)) & (output < vec4u(${outputs}u));
        let targets = select(vec4u(NOWHERE), ${target}u + output * ${inputs}u + input, there);
        return Source(${at // 4}u + local, ${ins * outs // 4}u, ${parts}u, targets);
    }
    //% set OFFSET.at = OFFSET.at + ins * outs
    //% endfor
    //% for at, lines, parts, outputs, target, ordered in BIASES
    if quad < ${(OFFSET.at + lines) // 4}u {
        let local = quad - ${OFFSET.at // 4}u;
        let output = ${"neurons(local * 4u + FOUR, " ~ lines ~ "u)" if ordered else "local * 4u + FOUR"};
        let targets = select(vec4u(NOWHERE), ${target}u + output, output < vec4u(${outputs}u));
        return Source(${at // 4}u + local, ${lines // 4}u, ${parts}u, targets);
    }
    //% set OFFSET.at = OFFSET.at + lines
    //% endfor
    return Source(0u, 0u, 0u, vec4u(NOWHERE));
}

@compute @workgroup_size(${2 * SLICES})
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let found = source(group.x * QUADS + lane % QUADS);
    let items = params.groups * found.parts;
    let shift = firstTrailingBit(found.parts);
    var total = vec4f();
    for (var first = lane / QUADS; first < items; first += ${4 * SLICES}u) {  // four at a time: their waits overlap
        //% for i in range(4)
        let item${i} = min(first + ${i * SLICES}u, items - 1u);
        let part${i} = partial[(item${i} >> shift) * ${SIZE // 4}u + found.offset + (item${i} & (found.parts - 1u)) * found.step];
        //% endfor
        //% for i in range(4)
        total += select(vec4f(), part${i}, first + ${i * SLICES}u < items);
        //% endfor
    }
    sums[lane] = total;
    for (var half = ${SLICES // 2}u * QUADS; half >= QUADS; half /= 2u) {
        workgroupBarrier();
        if lane < half {
            sums[lane] += sums[lane + half];
        }
    }
    workgroupBarrier();
    if lane < QUADS {
        for (var n = 0u; n < 4u; n += 1u) {
            if found.targets[n] != NOWHERE {
                flat[params.flat_offset + found.targets[n]] = sums[lane][n];
            }
        }
    }
}
