// The embeddings of tokens, with those of their positions where the model has some.
// In: FORMAT as in packed_weights.wgsl, not int4; INNER; POSITIONS, whether there are some, in the same format.
// Out: out, (count, INNER).
//% import "common/packed_weights.wgsl" as packed with context
//% set CHUNK = packed.CHUNK

struct Params {
    position: u32,  // of the first token
    count: u32,
    vocabulary: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> tokens: array<u32>;
@group(0) @binding(2) var<storage, read> table: array<vec4u>;
@group(0) @binding(3) var<storage, read_write> out: array<vec4f>;
//% if POSITIONS
@group(0) @binding(4) var<storage, read> positions: array<vec4u>;
//% endif

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let chunk = id.x % ${INNER // CHUNK}u;
    let row = id.x / ${INNER // CHUNK}u;
    if row >= params.count {
        return;
    }
    let token = min(tokens[params.position + row], params.vocabulary - 1u);
    let word = table[token * ${INNER // CHUNK}u + chunk];
    //% for q in range(2)
    {
        var value = ${packed.quad("word", q)};
        //% if POSITIONS
        let learned = positions[(params.position + row) * ${INNER // CHUNK}u + chunk];
        value += ${packed.quad("learned", q)};
        //% endif
        out[(row * ${INNER // CHUNK}u + chunk) * 2u + ${q}u] = value;
    }
    //% endfor
}
