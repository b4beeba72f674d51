// Weights of a few bits in blocks along a row, each with a scale and a zero point, as MatMulNBits stores them.
// In: BITS of a weight; MULTIPLY, whether rows of x are multiplied with them, or else they are written out; ROWS of x;
//     X and OUT, element types; BIAS, whether one is added. packed[n] is a row of params.words words, the first weight
//     in the lowest bits; a weight w of block b is scales[n, b] * (w - zeros[n, b]).
// Out: out[m, n] = sum over k of x[m, k] weight[n, k] + bias[n]; or out[n, k] = weight[n, k].
//% if "f16" in (X, OUT)
enable f16;
//% endif
//% include "common/index.wgsl"
//% set PER = 32 // BITS
//% set LANES = 32
//% set COLUMNS = 4

struct Params {
    rows: u32,  // of weights
    words: u32,
    columns: u32,  // of weights
    block: u32,
    blocks: u32,  // of a row
    packed_offset: u32,
    scales_offset: u32,
    zeros_offset: u32,
    out_offset: u32,
    //% if MULTIPLY
    x_offset: u32,
    //% endif
    //% if BIAS
    bias_offset: u32,
    //% endif
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> packed: array<u32>;
@group(0) @binding(2) var<storage, read> scales: array<f32>;
@group(0) @binding(3) var<storage, read> zeros: array<f32>;
@group(0) @binding(4) var<storage, read_write> out: array<${OUT}>;
//% if MULTIPLY
@group(0) @binding(5) var<storage, read> x: array<${X}>;
//% if BIAS
@group(0) @binding(6) var<storage, read> bias: array<f32>;
//% endif

var<workgroup> partial: array<f32, ${LANES * COLUMNS}>;

@compute @workgroup_size(${LANES * COLUMNS})
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let n = (group.y * num_workgroups.x + group.x) * ${COLUMNS}u + lane / ${LANES}u;
    //% for row in range(ROWS)
    var sum${row} = 0.0;
    //% endfor
    if n < params.rows {
        for (var word = lane % ${LANES}u; word < params.words; word += ${LANES}u) {
            let bits = packed[params.packed_offset + n * params.words + word];
            let at = n * params.blocks + word * ${PER}u / params.block;
            let scale = scales[params.scales_offset + at];
            let zero = zeros[params.zeros_offset + at];
            let first = params.x_offset + word * ${PER}u;
            //% for i in range(0, PER, 4)
            {
                let weight = vec4f((vec4u(bits) >> vec4u(${BITS * i}u, ${BITS * (i + 1)}u, ${BITS * (i + 2)}u, ${BITS * (i + 3)}u)) & vec4u(${2 ** BITS - 1}u)) - zero;
                //% for row in range(ROWS)
                {
                    let from_here = first + ${row}u * params.columns + ${i}u;
                    sum${row} += scale * dot(weight, vec4f(f32(x[from_here]), f32(x[from_here + 1u]), f32(x[from_here + 2u]), f32(x[from_here + 3u])));
                }
                //% endfor
            }
            //% endfor
        }
    }
    //% for row in range(ROWS)
    partial[lane] = sum${row};
    workgroupBarrier();
    for (var left = ${LANES // 2}u; left > 0u; left /= 2u) {
        if lane % ${LANES}u < left {
            partial[lane] += partial[lane + left];
        }
        workgroupBarrier();
    }
    if lane % ${LANES}u == 0u && n < params.rows {
        //% if BIAS
        out[params.out_offset + ${row}u * params.rows + n] = ${OUT}(partial[lane] + bias[params.bias_offset + n]);
        //% else
        out[params.out_offset + ${row}u * params.rows + n] = ${OUT}(partial[lane]);
        //% endif
    }
    workgroupBarrier();
    //% endfor
}
//% else

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 256u);
    if i >= params.rows * params.words {
        return;
    }
    let n = i / params.words;
    let word = i % params.words;
    let bits = packed[params.packed_offset + i];
    for (var j = 0u; j < ${PER}u; j += 1u) {
        let k = word * ${PER}u + j;
        if k < params.columns {
            let at = n * params.blocks + k / params.block;
            let weight = f32((bits >> (${BITS}u * j)) & ${2 ** BITS - 1}u) - zeros[params.zeros_offset + at];
            out[params.out_offset + n * params.columns + k] = ${OUT}(scales[params.scales_offset + at] * weight);
        }
    }
}
//% endif
