// Several vectors, the rows of x, times a matrix of packed weights: tiles of 64 tokens by 64 rows of weights. Each of 256
// invocations has 4 by 4 sums; parts of 32 elements of both go through workgroup memory.
// In: FORMAT and GROUP as in packed_weights.wgsl; INNER, a multiple of 32; ACTIVATION, BIAS and THEN as in matvec.wgsl.
// Out: out, (tokens, rows), or half as many rows with THEN = "gate".
//% import "common/packed_weights.wgsl" as packed with context
//% set CHUNK = packed.CHUNK
//% set QUADS = packed.QUADS
//% set CHUNKS = INNER // CHUNK
//% include "common/math.wgsl"
//% include "common/activation.wgsl"

struct Params {
    rows: u32,
    count: u32,  // of the vectors
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(0) @binding(2) var<storage, read> weights: array<vec4u>;
@group(0) @binding(3) var<storage, read> x: array<vec4f>;
//% if FORMAT == "int4"
@group(0) @binding(4) var<storage, read> scales: array<u32>;
//% endif
//% if BIAS
@group(0) @binding(7) var<storage, read> bias: array<f32>;
//% endif

//% set LINE = 17
var<workgroup> left: array<vec4f, ${32 * LINE}>;  // element k of four tokens at k * LINE + tokens / 4
var<workgroup> right: array<vec4f, ${32 * LINE}>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let first_row = group.x * 64u;
    let first_token = group.y * 64u;
    if first_token >= params.count {
        return;
    }
    let across = lane % 16u;
    let down = lane / 16u;
    //% for t in range(4)
    var sum${t} = vec4f();
    //% endfor
    for (var k = 0u; k < ${INNER}u; k += 32u) {
        for (var i = lane; i < 512u; i += 256u) {  // 64 tokens of 8 quads
            let token = i / 8u;
            let quad = i % 8u;
            var value = vec4f();
            if first_token + token < params.count {
                value = x[(first_token + token) * ${INNER // 4}u + k / 4u + quad];
            }
            //% for j in range(4)
            left[(quad * 4u + ${j}u) * ${LINE}u + token / 4u][token % 4u] = value[${j}];
            //% endfor
        }
        for (var i = lane; i < ${64 * 32 // CHUNK}u; i += 256u) {
            let row = i / ${32 // CHUNK}u;
            let chunk = i % ${32 // CHUNK}u;
            let at = min(first_row + row, params.rows - 1u);
            let word = weights[at * ${CHUNKS}u + k / ${CHUNK}u + chunk];
            //% if FORMAT == "int4"
            let scale = unpack2x16float(scales[at * ${INNER // GROUP}u + k / ${GROUP}u]);
            //% endif
            //% for q in range(QUADS)
            {
                //% if FORMAT == "int4"
                let value = ${packed.quad("word", q)} * scale.x + scale.y;
                //% else
                let value = ${packed.quad("word", q)};
                //% endif
                //% for j in range(4)
                right[(chunk * ${CHUNK}u + ${4 * q + j}u) * ${LINE}u + row / 4u][row % 4u] = value[${j}];
                //% endfor
            }
            //% endfor
        }
        workgroupBarrier();
        for (var i = 0u; i < 32u; i += 1u) {
            let tokens = left[i * ${LINE}u + down];
            let rows = right[i * ${LINE}u + across];
            //% for t in range(4)
            sum${t} += tokens[${t}] * rows;
            //% endfor
        }
        workgroupBarrier();
    }
    let row = first_row + across * 4u;
    //% for t in range(4)
    {
        let token = first_token + down * 4u + ${t}u;
        if token < params.count {
            //% if THEN == "gate"
            //% for r in range(0, 4, 2)
            if row + ${r}u < params.rows {
                //% if BIAS
                let gate = sum${t}[${r}] + bias[row + ${r}u];
                let value = sum${t}[${r + 1}] + bias[row + ${r + 1}u];
                //% else
                let gate = sum${t}[${r}];
                let value = sum${t}[${r + 1}];
                //% endif
                out[(token * params.rows + row + ${r}u) / 2u] = ${ACTIVATION}(gate) * value;
            }
            //% endfor
            //% else
            //% for r in range(4)
            if row + ${r}u < params.rows {
                //% if BIAS
                let value = sum${t}[${r}] + bias[row + ${r}u];
                //% else
                let value = sum${t}[${r}];
                //% endif
                let at = token * params.rows + row + ${r}u;
                //% if THEN == "add"
                out[at] += value;
                //% elif THEN == "activate"
                out[at] = ${ACTIVATION}(value);
                //% else
                out[at] = value;
                //% endif
            }
            //% endfor
            //% endif
        }
    }
    //% endfor
}
