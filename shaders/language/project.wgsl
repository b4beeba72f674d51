// Queries of several tokens, normalized and rotated; their keys and values put into the cache. A workgroup takes a head
// of a token: those of the queries, then those of the keys and values.
// In: as in attention_heads.wgsl. Out: queries, keys, values.
//% import "common/attention_heads.wgsl" as heads with context
//% set WORD = heads.WORD
//% include "common/attention_heads.wgsl"

struct Params {
    position: u32,  // of the first token
    count: u32,
    epsilon: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(7) var<storage, read_write> queries: array<f32>;

var<workgroup> head_key: array<f32, ${HEAD}>;
var<workgroup> head_value: array<f32, ${HEAD}>;

@compute @workgroup_size(${THREADS})
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    if group.y >= params.count {
        return;
    }
    let position = params.position + group.y;
    let first = (group.y * ${HEADS + 2 * KV_HEADS}u + group.x) * ${HEAD}u;
    let scale = head_scale(first, params.epsilon, lane);
    if group.x < ${HEADS}u {
        for (var i = lane; i < ${HEAD}u; i += ${THREADS}u) {
            queries[(group.y * ${HEADS}u + group.x) * ${HEAD}u + i] = turned(first, i, scale, position, true);
        }
        return;
    }
    for (var i = lane; i < ${HEAD}u; i += ${THREADS}u) {
        head_key[i] = turned(first, i, scale, position, false);
        head_value[i] = rows[first + ${KV_HEADS * HEAD}u + i];
    }
    workgroupBarrier();
    if lane < ${HEAD // WORD}u {
        let at = cached(group.x - ${HEADS}u, position) + lane;
        keys[at] = ${heads.pack("head_key", "lane * " ~ WORD ~ "u")};
        values[at] = ${heads.pack("head_value", "lane * " ~ WORD ~ "u")};
    }
}
