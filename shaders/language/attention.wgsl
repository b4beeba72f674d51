// Attention of one token's queries, or of several, to the keys in the cache, up to the token's own position. A workgroup
// takes a head and a part of the keys, TILE at a time, with sums that are scaled when a larger score comes.
// In: as in attention_heads.wgsl; TILE, which is the number of invocations; SPLITS, parts of the keys, whose sums matvec.wgsl
//     adds up; WINDOW, the keys that a token attends at most, 0 for all; SCORES, whether scores are stored.
//     With DECODE: it is one token, whose keys and values are normalized, rotated and put into the cache here. Else
//     project.wgsl has done that for `count` tokens, and `queries` holds their queries.
// Out: out, unscaled sums of values for each part, with weight_sums; with one part, their means.
//% import "common/attention_heads.wgsl" as heads with context
//% set WORD = heads.WORD
//% include "common/attention_heads.wgsl"

struct Params {
    position: u32,  // of the (first) token
    //% if not DECODE
    count: u32,
    //% endif
    epsilon: f32,
    scale: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(7) var<storage, read_write> out: array<f32>;
//% if SPLITS > 1
@group(0) @binding(8) var<storage, read_write> weight_sums: array<vec2f>;
//% endif
//% if SCORES
@group(0) @binding(9) var<storage, read_write> scores: array<f32>;
//% endif
//% if not DECODE
@group(0) @binding(10) var<storage, read> queries: array<f32>;
//% endif

//% set PAIRS = HEAD // 2
//% set GROUPS = TILE // PAIRS

var<workgroup> query: array<f32, ${HEAD}>;
//% if DECODE
var<workgroup> new_key: array<f32, ${HEAD}>;
var<workgroup> new_value: array<f32, ${HEAD}>;
//% endif
var<workgroup> weights: array<f32, ${TILE}>;
var<workgroup> some: array<f32, 8>;
var<workgroup> sums: array<vec2f, ${TILE}>;

fn largest(lane: u32) -> f32 {
    if lane < 8u {
        var most = weights[lane];
        for (var other = lane + 8u; other < ${TILE}u; other += 8u) {
            most = max(most, weights[other]);
        }
        some[lane] = most;
    }
    workgroupBarrier();
    var most = some[0];
    //% for j in range(1, 8)
    most = max(most, some[${j}]);
    //% endfor
    return most;
}

@compute @workgroup_size(${TILE})
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let head = group.x;
    let shared_head = head / ${HEADS // KV_HEADS}u;
    //% if DECODE
    let position = params.position;
    let first = 0u;
    //% else
    if group.z >= params.count {
        return;
    }
    let position = params.position + group.z;
    //% endif
    let length = position + 1u;
    let span = max(${TILE}u, (length + ${SPLITS * TILE - 1}u) / ${SPLITS * TILE}u * ${TILE}u);
    //% if WINDOW
    let oldest = max(length, ${WINDOW}u) - ${WINDOW}u;
    //% else
    let oldest = 0u;
    //% endif
    let begin = group.y * span;
    let end = min(begin + span, length);
    if begin >= length {
        return;
    }

    //% if DECODE
    let query_first = head * ${HEAD}u;
    let query_scale = head_scale(query_first, params.epsilon, lane);
    for (var i = lane; i < ${HEAD}u; i += ${TILE}u) {
        query[i] = turned(query_first, i, query_scale, position, true) * params.scale;
    }
    if end == length {  // this part has the token itself
        let key_first = (${HEADS}u + shared_head) * ${HEAD}u;
        let key_scale = head_scale(key_first, params.epsilon, lane);
        for (var i = lane; i < ${HEAD}u; i += ${TILE}u) {
            new_key[i] = turned(key_first, i, key_scale, position, false);
            new_value[i] = rows[(${HEADS + KV_HEADS}u + shared_head) * ${HEAD}u + i];
        }
        workgroupBarrier();
        if head % ${HEADS // KV_HEADS}u == 0u && lane < ${HEAD // WORD}u {
            keys[cached(shared_head, position) + lane] = ${heads.pack("new_key", "lane * " ~ WORD ~ "u")};
            values[cached(shared_head, position) + lane] = ${heads.pack("new_value", "lane * " ~ WORD ~ "u")};
        }
    }
    //% else
    for (var i = lane; i < ${HEAD}u; i += ${TILE}u) {
        query[i] = queries[(group.z * ${HEADS}u + head) * ${HEAD}u + i] * params.scale;
    }
    //% endif
    workgroupBarrier();

    let pair = lane % ${PAIRS}u;
    let line = lane / ${PAIRS}u;
    var most = -3.0e38;
    var weight = 0.0;
    var sum = vec2f();
    for (var tile = begin; tile < end; tile += ${TILE}u) {
        let key = tile + lane;
        var score = -3.0e38;
        if key < end && key >= oldest {
            score = 0.0;
            //% if DECODE
            if key == position {
                for (var i = 0u; i < ${HEAD}u; i += 1u) {
                    score += query[i] * new_key[i];
                }
            } else {
            //% endif
            let at = cached(shared_head, key);
            for (var i = 0u; i < ${HEAD // WORD}u; i += 1u) {
                let word = keys[at + i];
                //% if CACHE == "f16"
                //% for j in range(4)
                score += dot(unpack2x16float(word[${j}]), vec2f(query[i * 8u + ${2 * j}u], query[i * 8u + ${2 * j + 1}u]));
                //% endfor
                //% else
                score += dot(bitcast<vec4f>(word), vec4f(query[i * 4u], query[i * 4u + 1u], query[i * 4u + 2u], query[i * 4u + 3u]));
                //% endif
            }
            //% if DECODE
            }
            //% endif
        }
        //% if SCORES
        if key < end {
            scores[head * ${CONTEXT}u + key] = score;
        }
        //% endif
        weights[lane] = score;
        workgroupBarrier();
        let higher = max(most, largest(lane));
        let old = exp(most - higher);
        most = higher;
        let share = select(0.0, exp(score - higher), score > -1.0e38);
        workgroupBarrier();  // all have read `some`, and `weights` is free
        weights[lane] = share;
        workgroupBarrier();
        weight = weight * old + share;
        sum *= old;
        if line < ${GROUPS}u {
            let count = min(${TILE}u, end - tile);
            for (var i = line; i < count; i += ${GROUPS}u) {
                //% if DECODE
                var pair_values = vec2f(new_value[pair * 2u], new_value[pair * 2u + 1u]);
                if tile + i != position {
                    pair_values = value_pair(cached(shared_head, tile + i), pair);
                }
                //% else
                let pair_values = value_pair(cached(shared_head, tile + i), pair);
                //% endif
                sum += weights[i] * pair_values;
            }
        }
        workgroupBarrier();
    }

    sums[lane] = sum;
    weights[lane] = weight;
    workgroupBarrier();
    if line == 0u {
        for (var other = 1u; other < ${GROUPS}u; other += 1u) {
            sum += sums[other * ${PAIRS}u + pair];
        }
        var all = 0.0;
        for (var other = 0u; other < ${TILE}u; other += 1u) {
            all += weights[other];
        }
        //% if SPLITS > 1
        let at = (group.y * ${HEADS}u + head) * ${HEAD}u + pair * 2u;
        if lane == 0u {
            weight_sums[group.y * ${HEADS}u + head] = vec2f(most, all);
        }
        //% else
        let at = (group.z * ${HEADS}u + head) * ${HEAD}u + pair * 2u;
        sum /= all;
        //% endif
        out[at] = sum.x;
        out[at + 1u] = sum.y;
    }
}

// Two elements of a value in the cache.
fn value_pair(at: u32, pair: u32) -> vec2f {
    //% if CACHE == "f16"
    return unpack2x16float(values[at + pair / 4u][pair % 4u]);
    //% else
    let word = bitcast<vec4f>(values[at + pair / 2u]);
    return select(word.xy, word.zw, pair % 2u == 1u);
    //% endif
}
