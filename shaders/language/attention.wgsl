// Attention of one token's queries, or of several, to the keys in the cache, up to the token's own position. A workgroup
// takes a head and a part of the keys, TILE at a time, with sums that are scaled when a larger score comes.
// In: as in attention_heads.wgsl; TILE, which is the number of invocations; SPLITS, parts of the keys, whose sums matvec.wgsl
//     adds up; SUBGROUP, invocations of a subgroup, or 0 to use none; WINDOW, the keys that a token attends at most, 0 for all; SCORES, whether scores are stored.
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
@group(0) @binding(7) var<storage, read_write> out: array<vec4f>;
//% if SPLITS > 1
@group(0) @binding(8) var<storage, read_write> weight_sums: array<vec2f>;
//% endif
//% if SCORES
@group(0) @binding(9) var<storage, read_write> scores: array<f32>;
//% endif
//% if not DECODE
@group(0) @binding(10) var<storage, read> queries: array<f32>;
//% endif

//% set WORDS = HEAD // WORD
//% set GROUPS = TILE // WORDS
//% set TURNS = (TILE + GROUPS - 1) // GROUPS
//% set HALVES = WORD // 4

var<workgroup> query: array<vec4f, ${HEAD // 4}>;
var<workgroup> shares: array<f32, ${TILE}>;
//% set SOME = TILE // SUBGROUP if SUBGROUP else 16
var<workgroup> some: array<f32, ${SOME}>;
var<workgroup> sums: array<vec4f, ${TILE * HALVES}>;
//% if DECODE
var<workgroup> new_key: array<f32, ${HEAD}>;
var<workgroup> new_value: array<f32, ${HEAD}>;
//% endif

// Four elements of a word of the cache.
//% macro four(word, half)
//% if CACHE == "f16"
vec4f(unpack2x16float(${word}[${2 * half}]), unpack2x16float(${word}[${2 * half + 1}]))
//%- else
bitcast<vec4f>(${word})
//%- endif
//%- endmacro

// The largest (or the sum) of the values of all invocations, by subgroups or by 16 invocations, then by all. Begins with
// writes and has a barrier after them; the next barrier ends it.
//% macro reduced(result, value, combine, of_subgroup)
    //% if SUBGROUP
    let own_${result} = ${of_subgroup}(${value});
    if lane % ${SUBGROUP}u == 0u {
        some[lane / ${SUBGROUP}u] = own_${result};
    }
    //% else
    shares[lane] = ${value};
    workgroupBarrier();
    if lane < 16u {
        var part = shares[lane];
        for (var other = lane + 16u; other < ${TILE}u; other += 16u) {
            part = ${combine("part", "shares[other]")};
        }
        some[lane] = part;
    }
    //% endif
    workgroupBarrier();
    var ${result} = some[0];
    for (var other = 1u; other < ${SOME}u; other += 1u) {
        ${result} = ${combine(result, "some[other]")};
    }
//%- endmacro
//% macro larger(a, b)
max(${a}, ${b})
//%- endmacro
//% macro sum_of(a, b)
${a} + ${b}
//%- endmacro

@compute @workgroup_size(${TILE})
fn main(
    @builtin(workgroup_id) group: vec3u,
    //% if SUBGROUP
    @builtin(subgroup_id) subgroup: u32,
    @builtin(subgroup_invocation_id) subgroup_lane: u32,
    //% else
    @builtin(local_invocation_index) lane: u32,
    //% endif
) {
    //% if SUBGROUP
    let lane = subgroup * ${SUBGROUP}u + subgroup_lane;
    //% endif
    let head = group.x;
    let shared_head = head / ${HEADS // KV_HEADS}u;
    //% if DECODE
    let position = params.position;
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
    let cached_end = min(end, position);  // the token itself is not read from the cache
    //% else
    let cached_end = end;
    //% endif

    // Each invocation has the score of one key of a tile, and a word of the values of every GROUPS-th key.
    let column = lane % ${WORDS}u;
    let line = lane / ${WORDS}u;
    let newest = cached(shared_head, max(cached_end, begin + 1u) - 1u);
    var most = -3.0e38;
    var weight = 0.0;
    //% for half in range(HALVES)
    var sum${half} = vec4f();
    //% endfor
    //% macro prepare()
    //% if DECODE
    let query_first = head * ${HEAD}u;
    let key_first = (${HEADS}u + shared_head) * ${HEAD}u;
    let query_scale = head_scale(query_first, params.epsilon, lane);
    let key_scale = head_scale(key_first, params.epsilon, lane);
    for (var i = lane; i < ${HEAD}u; i += ${TILE}u) {  // all are read before one is written, so that their waits overlap
        let query_element = turned(query_first, i, query_scale, position, true) * params.scale;
        let key_element = turned(key_first, i, key_scale, position, false);
        let value_element = rows[(${HEADS + KV_HEADS}u + shared_head) * ${HEAD}u + i];
        query[i / 4u][i % 4u] = query_element;
        new_key[i] = key_element;
        new_value[i] = value_element;
    }
    //% else
    for (var i = lane; i < ${HEAD}u; i += ${TILE}u) {
        query[i / 4u][i % 4u] = queries[(group.z * ${HEADS}u + head) * ${HEAD}u + i] * params.scale;
    }
    //% endif
    workgroupBarrier();
    //%- endmacro
    for (var tile = begin; tile < cached_end; tile += ${TILE}u) {
        let key = tile + lane;
        let at = min(cached(shared_head, key), newest);
        //% for part in range(0, WORDS, 8)
        //% for i in range(part, [part + 8, WORDS] | min)
        let key${i} = keys[at + ${i}u];
        //% endfor
        //% endfor
        //% for turn in range(TURNS)
        let value${turn} = values[min(cached(shared_head, tile + line + ${turn * GROUPS}u), newest) + column];
        //% endfor
        if tile == begin {
            ${prepare()}
        }
        var score = -3.0e38;
        if key < cached_end && key >= oldest {
            score = 0.0;
            //% for i in range(WORDS)
            //% for half in range(HALVES)
            score += dot(${four("key" ~ i, half)}, query[${i * HALVES + half}]);
            //% endfor
            //% endfor
        }
        //% if SCORES
        if key < cached_end {
            scores[head * ${CONTEXT}u + key] = score;
        }
        //% endif
        ${reduced("tile_most", "score", larger, "subgroupMax")}
        let higher = max(most, tile_most);
        let old = exp(most - higher);
        most = higher;
        let share = select(0.0, exp(score - higher), score > -1.0e38);
        shares[lane] = share;
        workgroupBarrier();
        weight = weight * old + share;
        //% for half in range(HALVES)
        sum${half} *= old;
        //% endfor
        if line < ${GROUPS}u {
            //% for turn in range(TURNS)
            if line + ${turn * GROUPS}u < ${TILE}u {
                //% for half in range(HALVES)
                sum${half} += shares[line + ${turn * GROUPS}u] * ${four("value" ~ turn, half)};
                //% endfor
            }
            //% endfor
        }
        workgroupBarrier();
    }
    //% if DECODE
    if begin >= cached_end {
        ${prepare()}
    }
    var new_share = 0.0;
    if end == length {
        if head % ${HEADS // KV_HEADS}u == 0u && lane < ${WORDS}u {
            keys[cached(shared_head, position) + lane] = ${heads.pack("new_key", "lane * " ~ WORD ~ "u")};
            values[cached(shared_head, position) + lane] = ${heads.pack("new_value", "lane * " ~ WORD ~ "u")};
        }
        var product = 0.0;
        if lane < ${HEAD // 4}u {
            product = dot(query[lane], vec4f(new_key[lane * 4u], new_key[lane * 4u + 1u], new_key[lane * 4u + 2u], new_key[lane * 4u + 3u]));
        }
        ${reduced("new_score", "product", sum_of, "subgroupAdd")}
        //% if SCORES
        if lane == 0u {
            scores[head * ${CONTEXT}u + position] = new_score;
        }
        //% endif
        let higher = max(most, new_score);
        let old = exp(most - higher);
        new_share = exp(new_score - higher);
        most = higher;
        weight *= old;
        //% for half in range(HALVES)
        sum${half} *= old;
        //% endfor
    }
    //% endif

    workgroupBarrier();
    //% for half in range(HALVES)
    sums[lane * ${HALVES}u + ${half}u] = sum${half};
    //% endfor
    ${reduced("all", "weight", sum_of, "subgroupAdd")}
    //% if DECODE
    all += new_share;
    //% endif
    for (var quad = lane; quad < ${HEAD // 4}u; quad += ${TILE}u) {
        var result = vec4f();
        for (var other = 0u; other < ${GROUPS}u; other += 1u) {
            result += sums[other * ${WORDS * HALVES}u + quad];
        }
        //% if DECODE
        if end == length {
            result += new_share * vec4f(new_value[quad * 4u], new_value[quad * 4u + 1u], new_value[quad * 4u + 2u], new_value[quad * 4u + 3u]);
        }
        //% endif
        //% if SPLITS > 1
        let first = (group.y * ${HEADS}u + head) * ${HEAD // 4}u + quad;
        if quad == 0u {
            weight_sums[group.y * ${HEADS}u + head] = vec2f(most, all);
        }
        //% else
        let first = (group.z * ${HEADS}u + head) * ${HEAD // 4}u + quad;
        result /= all;
        //% endif
        out[first] = result;
    }
}
