// Random numbers of a named stream, each by its index in the stream.
// In: KIND, "uniform", "normal" or "integers"; params.key, the seed; params.stream, the name's; params.first, the index of
//     the first in the stream.
// Out: out[i] = number params.first + i of the stream; integers from params.low on, params.range of them (0: all).
//% include "common/index.wgsl"
//% include "common/math.wgsl"
//% include "common/philox.wgsl"

struct Params {
    count: u32,
    out_offset: u32,
    key: vec2u,
    stream: vec2u,
    first: vec2u,  // low word, high word
    low: f32,
    high: f32,
    least: u32,
    range: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> out: array<${"u32" if KIND == "integers" else "f32"}>;

// Four numbers share a counter; an invocation makes those of one, of which the first and the last may be outside.
@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let block = linear_index(id, num_workgroups, 256u);
    let skipped = params.first.x & 3u;
    if block * 4u >= params.count + skipped {
        return;
    }
    let start = vec2u((params.first.x >> 2u) | (params.first.y << 30u), params.first.y >> 2u);
    let low = start.x + block;
    let words = philox(vec4u(low, start.y + select(0u, 1u, low < block), params.stream), params.key);
    //% if KIND == "uniform"
    let drawn = params.low + philox_uniform(words) * (params.high - params.low);
    //% elif KIND == "normal"
    let radii = vec2f(philox_radius(words.x), philox_radius(words.z));
    let angles = vec2f(philox_angle(words.y), philox_angle(words.w));
    let turned = vec4f(precise_cos(angles.x), precise_sin(angles.x), precise_cos(angles.y), precise_sin(angles.y));
    let drawn = params.low + radii.xxyy * turned * params.high;
    //% else
    var drawn = words;
    if params.range != 0u {
        drawn = vec4u(
            philox_below(words.x, params.range),
            philox_below(words.y, params.range),
            philox_below(words.z, params.range),
            philox_below(words.w, params.range),
        );
    }
    drawn += vec4u(params.least);
    //% endif
    //% for k in range(4)
    {
        let i = block * 4u + ${k}u - skipped;  // wraps where it is before the first
        if i < params.count {
            out[params.out_offset + i] = drawn[${k}];
        }
    }
    //% endfor
}
