// What a network takes for one token: the token, its position, and which of the keys are there, its own included: the
// first ones if they are written in place, else the last ones.
// Out: input_ids, attention_mask (CONTEXT), position_ids.
// In: CONTEXT; POSITIONED, whether the network takes the position; WRITTEN, whether it writes its cache in place.

struct Params {
    position: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> tokens: array<u32>;
@group(0) @binding(2) var<storage, read_write> input_ids: array<i32>;
@group(0) @binding(3) var<storage, read_write> attention_mask: array<i32>;
//% if POSITIONED
@group(0) @binding(4) var<storage, read_write> position_ids: array<i32>;
//% endif

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x < ${CONTEXT}u {
        //% if WRITTEN
        attention_mask[id.x] = i32(id.x <= params.position);
        //% else
        attention_mask[id.x] = i32(id.x + params.position + 1u >= ${CONTEXT}u);
        //% endif
    }
    if id.x == 0u {
        input_ids[0] = i32(tokens[params.position]);
        //% if POSITIONED
        position_ids[0] = i32(params.position);
        //% endif
    }
}
