// Heads of queries, keys and values: their norms, their rotation by position (Su et al., "RoFormer", 2021; the halves of
// a head are the parts of complex numbers, as in Llama), and the cache of keys and values.
// In: HEAD; HEADS, KV_HEADS; ROTATED; NORMED; CACHE, "f16" or "f32"; CONTEXT, positions of the cache; THREADS. `rows` is
// the result of the product with queries, keys and values below each other, for each token.
//% set WORD = 8 if CACHE == "f16" else 4

@group(0) @binding(1) var<storage, read> rows: array<f32>;
@group(0) @binding(2) var<storage, read_write> keys: array<vec4u>;
@group(0) @binding(3) var<storage, read_write> values: array<vec4u>;
//% if ROTATED
@group(0) @binding(4) var<storage, read> angles: array<vec2f>;  // cosine and sine, for each position and half head
//% endif
//% if NORMED
@group(0) @binding(5) var<storage, read> query_gain: array<f32>;
@group(0) @binding(6) var<storage, read> key_gain: array<f32>;
//% endif

var<workgroup> head_sums: array<f32, ${THREADS}>;

// The factor of the norm of the head that begins at element `first`; 1 without one.
fn head_scale(first: u32, epsilon: f32, lane: u32) -> f32 {
    //% if NORMED
    var sum = 0.0;
    for (var i = lane; i < ${HEAD}u; i += ${THREADS}u) {
        sum += rows[first + i] * rows[first + i];
    }
    head_sums[lane] = sum;
    workgroupBarrier();
    sum = 0.0;
    for (var other = 0u; other < ${[HEAD, THREADS] | min}u; other += 1u) {
        sum += head_sums[other];
    }
    workgroupBarrier();
    return inverseSqrt(sum / ${HEAD}.0 + epsilon);
    //% else
    return 1.0;
    //% endif
}

// Element i of a head of queries or keys, normalized and rotated.
fn turned(first: u32, i: u32, scale: f32, position: u32, of_query: bool) -> f32 {
    //% if NORMED
    let gain = select(key_gain[i], query_gain[i], of_query) * scale;
    //% else
    let gain = 1.0;
    //% endif
    let value = rows[first + i] * gain;
    //% if ROTATED
    let half = i % ${HEAD // 2}u;
    let other = (i + ${HEAD // 2}u) % ${HEAD}u;
    //% if NORMED
    let opposite = rows[first + other] * select(key_gain[other], query_gain[other], of_query) * scale;
    //% else
    let opposite = rows[first + other];
    //% endif
    let angle = angles[position * ${HEAD // 2}u + half];
    return value * angle.x + select(opposite, -opposite, i < ${HEAD // 2}u) * angle.y;
    //% else
    return value;
    //% endif
}

// The word of the cache at which the head `head` at `position` begins.
fn cached(head: u32, position: u32) -> u32 {
    return (head * ${CONTEXT}u + position) * ${HEAD // WORD}u;
}

//% macro pack(array, at)
//% if CACHE == "f16"
vec4u(
    //% for j in range(4)
    pack2x16float(vec2f(${array}[${at} + ${2 * j}u], ${array}[${at} + ${2 * j + 1}u])),
    //% endfor
)
//%- else
bitcast<vec4u>(vec4f(${array}[${at}], ${array}[${at} + 1u], ${array}[${at} + 2u], ${array}[${at} + 3u]))
//%- endif
//%- endmacro
