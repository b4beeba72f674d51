// A matrix of packed weights times one vector, with what comes before and after it in a transformer: one read of the
// weights, as fast as memory gives them. A workgroup holds the vector, normalized, and makes a block of rows after the
// other; LANES invocations share four rows, and read the next weights, and what is added to rows, before they work on those
// they have.
// In: FORMAT and GROUP as in packed_weights.wgsl; THREADS, LANES, TURNS (chunks that an invocation reads of each row at a
//     time); SUBGROUP, invocations of a subgroup, or 0 where LANES are no whole subgroups; INNER, the elements of a row, and SECTION of them held at a time; NORM: "", "rms" or "layer", with SHIFT a bias of it;
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
//% set WIDTH = 2 if THEN == "gate" else 1
//% set BATCH = [4, (HELD * QUADS + THREADS - 1) // THREADS] | min
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
//% set SUMS = GROUPS * (LANES // SUBGROUP) if SUBGROUP else THREADS
var<workgroup> partial: array<vec4f, ${SUMS}>;
//% if NORM
var<workgroup> sums: array<f32, ${THREADS}>;

// The sum of what all invocations have; `sums` may be written again after the next barrier.
fn total(value: f32, lane: u32) -> f32 {
    //% if SUBGROUP
    let own = subgroupAdd(value);
    if lane % ${SUBGROUP}u == 0u {
        sums[lane / ${SUBGROUP}u] = own;
    }
    //% else
    sums[lane] = value;
    workgroupBarrier();
    if lane < 16u {
        var sum = 0.0;
        for (var other = lane; other < ${THREADS}u; other += 16u) {
            sum += sums[other];
        }
        sums[lane] = sum;
    }
    //% endif
    workgroupBarrier();
    var sum = 0.0;
    for (var other = 0u; other < ${THREADS // SUBGROUP if SUBGROUP else 16}u; other += 1u) {
        sum += sums[other];
    }
    return sum;
}
//% endif

//% if SPLITS
var<workgroup> factors: array<f32, ${SPLITS * HEADS}>;

// How many parts the attention has.
fn count_parts() -> u32 {
    let length = params.position + 1u;
    let span = max(${TILE}u, (length + ${SPLITS * TILE - 1}u) / ${SPLITS * TILE}u * ${TILE}u);
    return (length + span - 1u) / span;
}

// Puts the factor of each part of each head into workgroup memory. The next barrier ends it.
fn weigh_parts(lane: u32) {
    let last = count_parts() - 1u;
    for (var head = lane; head < ${HEADS}u; head += ${THREADS}u) {
        //% for part in range(SPLITS)
        let part${part} = weight_sums[min(${part}u, last) * ${HEADS}u + head];
        //% endfor
        var most = part0.x;
        //% for part in range(1, SPLITS)
        most = max(most, part${part}.x);
        //% endfor
        var sum = 0.0;
        //% for part in range(SPLITS)
        let factor${part} = select(0.0, exp(part${part}.x - most), ${part}u <= last);
        sum += factor${part} * part${part}.y;
        //% endfor
        //% for part in range(SPLITS)
        factors[${part * HEADS}u + head] = factor${part} / sum;
        //% endfor
    }
}
//% endif

fn element(i: u32) -> vec4f {
    return x[params.x_first + i];
}

// Puts the part of the vector that begins at chunk `start` into workgroup memory, for int4 divided by UNITS; returns the
// sum of the squares of what this invocation has put there. The next barrier ends it. Loads come in batches, so that their
// waits overlap.
fn hold(start: u32, lane: u32, mean: f32, scale: f32) -> f32 {
    var squares = 0.0;
    //% if SECTION < INNER
    let held = min(${HELD}u, ${CHUNKS}u - start) * ${QUADS}u;
    //% else
    let held = ${HELD * QUADS}u;
    //% endif
    for (var first = lane; first < held; first += ${BATCH * THREADS}u) {
        //% for j in range(BATCH)
        let i${j} = min(first + ${j * THREADS}u, held - 1u);
        let at${j} = start * ${QUADS}u + i${j};
        //% if SPLITS
        var value${j} = vec4f();
        //% else
        var value${j} = element(at${j});
        //% endif
        //% if NORM
        let gain${j} = gain[at${j}];
        //% endif
        //% if SHIFT
        let shift${j} = shift[at${j}];
        //% endif
        //% endfor
        //% if SPLITS
        let parts = count_parts();
        for (var part = 0u; part < parts; part += 2u) {
            let next = min(part + 1u, parts - 1u);
            //% for j in range(BATCH)
            let even${j} = x[part * ${HEADS * HEAD // 4}u + at${j}];
            let odd${j} = x[next * ${HEADS * HEAD // 4}u + at${j}];
            //% endfor
            let is_odd = part + 1u < parts;
            //% for j in range(BATCH)
            value${j} += even${j} * factors[part * ${HEADS}u + at${j} / ${HEAD // 4}u];
            value${j} += odd${j} * select(0.0, factors[next * ${HEADS}u + at${j} / ${HEAD // 4}u], is_odd);
            //% endfor
        }
        //% endif
        //% for j in range(BATCH)
        if first + ${j * THREADS}u < held {
            //% if NORM
            squares += dot(value${j}, value${j});
            //% endif
            //% if NORM == "layer"
            value${j} = (value${j} - mean) * scale;
            //% endif
            //% if NORM
            value${j} *= gain${j};
            //% endif
            //% if SHIFT
            value${j} += shift${j};
            //% endif
            //% if FORMAT == "int4"
            value${j} *= ${packed.ONE_BY_UNITS};
            //% endif
            vector[i${j} % ${QUADS}u * ${HELD}u + i${j} / ${QUADS}u] = value${j};
        }
        //% endfor
    }
    return squares;
}

//% if FORMAT == "int4"
// After `hold` and a barrier; the next barrier ends it.
fn add_up(lane: u32) {
    for (var c = lane; c < ${HELD}u; c += ${THREADS}u) {
        var sum = vec4f();
        //% for q in range(QUADS)
        sum += vector[${q * HELD}u + c];
        //% endfor
        vector_sums[c] = dot(sum, ${packed.UNITS});
    }
}
//% endif

@compute @workgroup_size(${THREADS})
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
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
    //% if BIAS or THEN == "add"
    var next_rest = array<f32, ${WIDTH}>();  // what is added to the rows of a block
    //% endif
    //% macro read(block, k)
    {
        let row = min(${block} * ${4 * GROUPS}u + own, (params.rows - 1u) / 4u * 4u);
        //% if BIAS or THEN == "add"
        if ${k} == line && line < ${4 // WIDTH}u && row + line * ${WIDTH}u < params.rows {
            //% for w in range(WIDTH)
            //% set at = "row + line * " ~ WIDTH ~ "u + " ~ w ~ "u"
            next_rest[${w}] = ${"bias[" ~ at ~ "]" if BIAS}${" + " if BIAS and THEN == "add"}${"out[" ~ at ~ "]" if THEN == "add"};
            //% endfor
        }
        //% endif
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
    //% set TWICE = NORM == "layer" or (NORM and SECTION < INNER)
    var mean = 0.0;
    var scale = 1.0;
    //% if TWICE
    {
        var sum = 0.0;
        //% if NORM == "layer"
        for (var i = lane; i < ${INNER // 4}u; i += ${THREADS}u) {
            let value = element(i);
            sum += value.x + value.y + value.z + value.w;
        }
        mean = total(sum, lane) / ${INNER}.0;
        workgroupBarrier();
        sum = 0.0;
        //% endif
        for (var i = lane; i < ${INNER // 4}u; i += ${THREADS}u) {
            let value = element(i) - mean;
            sum += dot(value, value);
        }
        scale = inverseSqrt(total(sum, lane) / ${INNER}.0 + params.epsilon);
    }
    //% endif
    //% if SPLITS
    weigh_parts(lane);
    workgroupBarrier();
    //% endif
    //% if SECTION >= INNER
    let squares = hold(0u, lane, mean, scale);
    //% if NORM and not TWICE
    scale = inverseSqrt(total(squares, lane) / ${INNER}.0 + params.epsilon);
    //% else
    workgroupBarrier();
    //% endif
    //% if FORMAT == "int4"
    add_up(lane);
    workgroupBarrier();
    //% endif
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
        //% if BIAS or THEN == "add"
        let rest = next_rest;
        //% endif
        let here = k;
        let here_block = block;
        k += ${STEP}u;
        let ends = k - line >= ${CHUNKS}u;
        if ends {
            k = line;
            block += num_workgroups.x;
        }
        if block < blocks {
            ${read("block", "k")}
        }
        //% if SECTION < INNER
        let begins = (here - line) % ${HELD}u == 0u;
        if begins {
            workgroupBarrier();
            _ = hold(here - line, lane, mean, scale);
            workgroupBarrier();
            //% if FORMAT == "int4"
            add_up(lane);
            workgroupBarrier();
            //% endif
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
                dot(${packed.raw_quad("now" ~ turn ~ "_" ~ r, q)}, x${q}),
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
                dot(${packed.raw_quad("now" ~ turn ~ "_" ~ r, q)}, x${q}),
                //% endfor
            );
            //% endfor
            //% endif
        }
        //% endfor
        if ends {
            //% if NORM == "rms"
            sum *= scale;
            //% endif
            //% if SUBGROUP
            sum = subgroupAdd(sum);
            //% if SUMS > GROUPS
            if subgroup_lane == 0u {
                partial[subgroup] = sum;
            }
            workgroupBarrier();
            //% endif
            //% else
            partial[lane] = sum;
            workgroupBarrier();
            //% endif
            let row = here_block * ${4 * GROUPS}u + own;
            if line < ${4 // WIDTH}u && row + line * ${WIDTH}u < params.rows {
                //% for w in range(WIDTH)
                //% if SUBGROUP and SUMS == GROUPS
                var value${w} = sum[line * ${WIDTH}u + ${w}u];
                //% else
                var value${w} = 0.0;
                for (var other = 0u; other < ${SUMS // GROUPS}u; other += 1u) {
                    value${w} += partial[lane / ${LANES}u * ${SUMS // GROUPS}u + other][line * ${WIDTH}u + ${w}u];
                }
                //% endif
                //% if BIAS or THEN == "add"
                value${w} += rest[${w}];
                //% endif
                //% endfor
                //% if THEN == "gate"
                out[row / 2u + line] = ${ACTIVATION}(value0) * value1;
                //% elif THEN == "activate"
                out[row + line] = ${ACTIVATION}(value0);
                //% else
                out[row + line] = value0;
                //% endif
            }
            //% if not SUBGROUP or SUMS > GROUPS
            workgroupBarrier();
            //% endif
            sum = vec4f();
        }
    }
}
