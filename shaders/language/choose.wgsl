// The next token from logits. `largest` and `largest_of_all` take the most probable one, by parts. `weigh` and `draw`
// take one at random from logits in falling order: e^(logit / temperature) is its weight, and `draw` finds where a random
// number falls in the running totals of the weights, as far as `top_p` of all of them.
// Out: tokens[position + 1].
//% include "common/math.wgsl"
//% include "common/philox.wgsl"
const PART = 1024u;  // logits that a workgroup compares

struct Params {
    count: u32,
    position: u32,
    top_k: u32,  // 0 for all
    temperature: f32,
    top_p: f32,
    seed: vec2u,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> logits: array<f32>;  // for `weigh`, in falling order
@group(0) @binding(2) var<storage, read_write> parts: array<vec2f>;  // largest logit, and the bits of its token
@group(0) @binding(3) var<storage, read_write> tokens: array<u32>;
@group(0) @binding(4) var<storage, read_write> weights: array<f32>;
@group(0) @binding(5) var<storage, read> totals: array<f32>;
@group(0) @binding(6) var<storage, read> order: array<i32>;  // tokens in the order of their logits

var<workgroup> found: array<vec2f, 256>;
var<workgroup> first: atomic<u32>;

// The better of two: the larger, of equal ones that with the lower token. NaN loses.
fn better(a: vec2f, b: vec2f) -> vec2f {
    let lower = bitcast<u32>(b.y) < bitcast<u32>(a.y);
    return select(a, b, b.x > a.x || (b.x == a.x && lower) || is_nan(a.x));
}

fn best_of_workgroup(own: vec2f, lane: u32) -> vec2f {
    found[lane] = own;
    for (var left = 128u; left > 0u; left /= 2u) {
        workgroupBarrier();
        if lane < left {
            found[lane] = better(found[lane], found[lane + left]);
        }
    }
    workgroupBarrier();
    return found[0];
}

@compute @workgroup_size(256)
fn largest(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    var own = vec2f(-3.4e38, bitcast<f32>(min(group.x * PART + lane, params.count - 1u)));
    for (var i = group.x * PART + lane; i < min((group.x + 1u) * PART, params.count); i += 256u) {
        own = better(own, vec2f(logits[i], bitcast<f32>(i)));
    }
    let best = best_of_workgroup(own, lane);
    if lane == 0u {
        parts[group.x] = best;
    }
}

@compute @workgroup_size(256)
fn largest_of_all(@builtin(local_invocation_index) lane: u32) {
    let count = (params.count + PART - 1u) / PART;
    var own = parts[0];
    for (var i = lane; i < count; i += 256u) {
        own = better(own, parts[i]);
    }
    let best = best_of_workgroup(own, lane);
    if lane == 0u {
        tokens[params.position + 1u] = bitcast<u32>(best.y);
    }
}

@compute @workgroup_size(256)
fn weigh(@builtin(global_invocation_id) id: vec3u) {
    let i = id.x;
    if i < params.count {
        let weight = exp((logits[i] - logits[0]) / params.temperature);
        weights[i] = select(weight, 0.0, params.top_k > 0u && i >= params.top_k);
    }
}

// Whether the running total of element i, without its own weight if so asked, has come to `bound`.
fn reached(i: u32, bound: f32, without: bool) -> bool {
    let before = select(totals[i], totals[i] - weights[i], without);
    return select(before > bound, before >= bound, without);
}

// The first element that has; the last one if none has. 256 are looked at at a time.
fn first_reached(bound: f32, without: bool, lane: u32) -> u32 {
    var low = 0u;
    var size = params.count;
    while size > 1u {
        let step = (size + 255u) / 256u;
        atomicStore(&first, 256u);
        workgroupBarrier();
        let last = min(low + (lane + 1u) * step, low + size) - 1u;
        if low + lane * step < low + size && reached(last, bound, without) {
            atomicMin(&first, lane);
        }
        workgroupBarrier();
        let line = min(atomicLoad(&first), (size - 1u) / step);
        workgroupBarrier();
        let end = low + size;
        low += line * step;
        size = min(step, end - low);
    }
    return low;
}

@compute @workgroup_size(256)
fn draw(@builtin(local_invocation_index) lane: u32) {
    let bound = params.top_p * totals[params.count - 1u];
    var end = params.count;
    if params.top_p < 1.0 {
        let beyond = first_reached(bound, true, lane);
        end = select(beyond, params.count, !reached(beyond, bound, true));
    }
    let mass = totals[max(end, 1u) - 1u];
    let words = philox(vec4u(params.position, 0u, 0x6c616e67u, 0x75616765u), params.seed);
    let chosen = first_reached(philox_uniform(words).x * mass, false, lane);
    if lane == 0u {
        tokens[params.position + 1u] = u32(order[min(chosen, max(end, 1u) - 1u)]);
    }
}
