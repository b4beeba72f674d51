// A matrix of packed weights times one vector, with what comes before and after it in a transformer: one read of the
// weights, as fast as memory gives them. A workgroup holds the vector, normalized, and makes a block of rows after the
// other; LANES invocations share four rows, and read the next weights before they work on those they have.
// In: FORMAT and GROUP as in packed_weights.wgsl; THREADS, LANES, TURNS (chunks that an invocation reads of each row at a time);
//     INNER, the elements of a row, and SECTION of them held at a time; NORM: "", "rms" or "layer", with SHIFT a bias of it;
//     SPLITS: the vector is the result of attention.wgsl in so many parts of HEADS heads of HEAD each, TILE keys at
//     least, or 0; BIAS; THEN: "store", "add" to what is there, "activate", or "gate": activation(row 2i) * row 2i + 1.
// Out: out.
//% import "common/packed_weights.wgsl" as packed with context
//% set CHUNK = packed.CHUNK
//% set QUADS = packed.QUADS
//% set CHUNKS = INNER // CHUNK
//% set HELD = SECTION // CHUNK
//% set GROUPS = THREADS // LANES
//% set STEP = LANES * TURNS
//% include "common/math.wgsl"
//% include "common/activation.wgsl"

struct Params {
    rows: u32,
    x_first: u32,  // quad of x at which the vector begins
    epsilon: f32,
    //% if SPLITS
    position: u32,
    //% endif
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(0) @binding(2) var<storage, read> weights: array<vec4u>;
@group(0) @binding(3) var<storage, read> x: array<vec4f>;
//% if FORMAT == "int4"
@group(0) @binding(4) var<storage, read> scales: array<u32>;
//% endif
//% if NORM
@group(0) @binding(5) var<storage, read> gain: array<vec4f>;
//% endif
//% if SHIFT
@group(0) @binding(6) var<storage, read> shift: array<vec4f>;
//% endif
//% if BIAS
@group(0) @binding(7) var<storage, read> bias: array<f32>;
//% endif
//% if SPLITS
@group(0) @binding(8) var<storage, read> weight_sums: array<vec2f>;  // largest score and sum of weights of each part
//% endif

var<workgroup> vector: array<vec4f, ${HELD * QUADS}>;  // quad q of chunk c at q * HELD + c: neighbors read neighbors
//% if FORMAT == "int4"
var<workgroup> vector_sums: array<f32, ${HELD}>;
//% endif
var<workgroup> partial: array<vec4f, ${THREADS}>;
//% if NORM
var<workgroup> sums: array<f32, ${THREADS}>;
var<workgroup> first_sums: array<f32, 16>;

// The sum of what all invocations have.
fn total(value: f32, lane: u32) -> f32 {
    sums[lane] = value;
    workgroupBarrier();
    if lane < 16u {
        var sum = 0.0;
        for (var other = lane; other < ${THREADS}u; other += 16u) {
            sum += sums[other];
        }
        first_sums[lane] = sum;
    }
    workgroupBarrier();
    var sum = 0.0;
    for (var other = 0u; other < 16u; other += 1u) {
        sum += first_sums[other];
    }
    return sum;
}
//% endif

//% if SPLITS
// Four elements of the vector: the parts of the attention, each weighted by its sum.
fn element(i: u32) -> vec4f {
    let head = i / ${HEAD // 4}u;
    let length = params.position + 1u;
    let span = max(${TILE}u, (length + ${SPLITS * TILE - 1}u) / ${SPLITS * TILE}u * ${TILE}u);
    let parts = (length + span - 1u) / span;
    var most = weight_sums[head].x;
    for (var part = 1u; part < parts; part += 1u) {
        most = max(most, weight_sums[part * ${HEADS}u + head].x);
    }
    var sum = 0.0;
    var value = vec4f();
    for (var part = 0u; part < parts; part += 1u) {
        let found = weight_sums[part * ${HEADS}u + head];
        let scale = exp(found.x - most);
        sum += scale * found.y;
        value += scale * x[part * ${HEADS * HEAD // 4}u + i];
    }
    return value / sum;
}
//% else
fn element(i: u32) -> vec4f {
    return x[params.x_first + i];
}
//% endif

// Puts the part of the vector that begins at chunk `start` into workgroup memory.
fn hold(start: u32, lane: u32, mean: f32, scale: f32) {
    for (var i = lane; i < ${HELD * QUADS}u; i += ${THREADS}u) {
        let at = start * ${QUADS}u + i;
        var value = vec4f();
        if at < ${CHUNKS * QUADS}u {
            value = element(at);
            //% if NORM
            value = (value - mean) * scale * gain[at];
            //% endif
            //% if SHIFT
            value += shift[at];
            //% endif
        }
        vector[i % ${QUADS}u * ${HELD}u + i / ${QUADS}u] = value;
    }
    workgroupBarrier();
    //% if FORMAT == "int4"
    for (var c = lane; c < ${HELD}u; c += ${THREADS}u) {
        var sum = vec4f();
        //% for q in range(QUADS)
        sum += vector[${q * HELD}u + c];
        //% endfor
        vector_sums[c] = sum.x + sum.y + sum.z + sum.w;
    }
    workgroupBarrier();
    //% endif
}

@compute @workgroup_size(${THREADS})
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let line = lane % ${LANES}u;
    let own = lane / ${LANES}u * 4u;  // the first of its rows within a block
    let blocks = (params.rows + ${4 * GROUPS - 1}u) / ${4 * GROUPS}u;
    var block = group.x;
    var k = line;  // chunk of the weights that are read next
    //% for turn in range(TURNS)
    //% for r in range(4)
    var next${turn}_${r} = vec4u();
    //% if FORMAT == "int4"
    var next_scale${turn}_${r} = 0u;
    //% endif
    //% endfor
    //% endfor
    //% macro read(block, k)
    {
        let row = min(${block} * ${4 * GROUPS}u + own, (params.rows - 1u) / 4u * 4u);
        //% for turn in range(TURNS)
        {
            let chunk = min(${k} + ${turn * LANES}u, ${CHUNKS - 1}u);
            //% for r in range(4)
            next${turn}_${r} = weights[(row + ${r}u) * ${CHUNKS}u + chunk];
            //% if FORMAT == "int4"
            next_scale${turn}_${r} = scales[(row + ${r}u) * ${INNER // GROUP}u + chunk / ${GROUP // CHUNK}u];
            //% endif
            //% endfor
        }
        //% endfor
    }
    //%- endmacro
    ${read("block", "k")}
    var mean = 0.0;
    var scale = 1.0;
    //% if NORM
    {
        var sum = 0.0;
        //% if NORM == "layer"
        for (var i = lane; i < ${INNER // 4}u; i += ${THREADS}u) {
            let value = element(i);
            sum += value.x + value.y + value.z + value.w;
        }
        mean = total(sum, lane) / ${INNER}.0;
        sum = 0.0;
        //% endif
        for (var i = lane; i < ${INNER // 4}u; i += ${THREADS}u) {
            let value = element(i) - mean;
            sum += dot(value, value);
        }
        scale = inverseSqrt(total(sum, lane) / ${INNER}.0 + params.epsilon);
    }
    //% endif
    //% if SECTION >= INNER
    hold(0u, lane, mean, scale);
    //% endif
    var sum = vec4f();
    while block < blocks {
        //% for turn in range(TURNS)
        //% for r in range(4)
        let now${turn}_${r} = next${turn}_${r};
        //% if FORMAT == "int4"
        let scale${turn}_${r} = next_scale${turn}_${r};
        //% endif
        //% endfor
        //% endfor
        let here = k;
        let here_block = block;
        k += ${STEP}u;
        let ends = k - line >= ${CHUNKS}u;
        if ends {
            k = line;
            block += num_workgroups.x;
        }
        ${read("min(block, blocks - 1u)", "k")}
        //% if SECTION < INNER
        let begins = (here - line) % ${HELD}u == 0u;
        if begins {
            workgroupBarrier();
            hold(here - line, lane, mean, scale);
        }
        //% endif
        //% for turn in range(TURNS)
        if here + ${turn * LANES}u < ${CHUNKS}u {
            let c = ${"here" if SECTION >= INNER else "here % " ~ HELD ~ "u"} + ${turn * LANES}u;
            //% if FORMAT == "int4"
            var found = vec4f();
            //% for q in range(QUADS)
            let x${q} = vector[${q * HELD}u + c];
            found += vec4f(
                //% for r in range(4)
                dot(${packed.quad("now" ~ turn ~ "_" ~ r, q)}, x${q}),
                //% endfor
            );
            //% endfor
            let chunk_sum = vector_sums[c];
            sum += vec4f(
                //% for r in range(4)
                dot(unpack2x16float(scale${turn}_${r}), vec2f(found[${r}], chunk_sum)),
                //% endfor
            );
            //% else
            //% for q in range(QUADS)
            let x${q} = vector[${q * HELD}u + c];
            sum += vec4f(
                //% for r in range(4)
                dot(${packed.quad("now" ~ turn ~ "_" ~ r, q)}, x${q}),
                //% endfor
            );
            //% endfor
            //% endif
        }
        //% endfor
        if ends {
            partial[lane] = sum;
            workgroupBarrier();
            let row = here_block * ${4 * GROUPS}u + own;
            //% set WIDTH = 2 if THEN == "gate" else 1
            if line < ${4 // WIDTH}u && row + line * ${WIDTH}u < params.rows {
                let first = lane - line;
                //% for w in range(WIDTH)
                var value${w} = 0.0;
                for (var other = 0u; other < ${LANES}u; other += 1u) {
                    value${w} += partial[first + other][line * ${WIDTH}u + ${w}u];
                }
                //% if BIAS
                value${w} += bias[row + line * ${WIDTH}u + ${w}u];
                //% endif
                //% endfor
                //% if THEN == "gate"
                out[row / 2u + line] = ${ACTIVATION}(value0) * value1;
                //% elif THEN == "add"
                out[row + line] += value0;
                //% elif THEN == "activate"
                out[row + line] = ${ACTIVATION}(value0);
                //% else
                out[row + line] = value0;
                //% endif
            }
            workgroupBarrier();
            sum = vec4f();
        }
    }
}
