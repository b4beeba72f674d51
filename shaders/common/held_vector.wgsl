// The vector of language/matvec.wgsl in workgroup memory: normalized, or added up from the parts of an attention. For int4
// its elements are integers of 16 bits in two digits of 8, which products with weights of 4 bits take four at a time; a
// chunk has a factor.
// In: as in language/matvec.wgsl; HELD, chunks of it that are there at a time, of QUADS quads each; CHUNKS, of all of it.
//% import "common/packed_weights.wgsl" as packed with context
//% set BATCH = [4, (HELD * QUADS + THREADS - 1) // THREADS] | min

// Quad q of chunk c is at q * HELD + c: neighbors read neighbors.
//% if FORMAT == "int4"
// First bits of f32; then, for each word of weights: high digits of its even elements, of its odd ones, and low digits.
var<workgroup> vector: array<vec4u, ${HELD * QUADS}>;
var<workgroup> vector_scales: array<vec2f, ${HELD}>;  // of a chunk: its factor, and the sum of its elements
const LARGEST = 32639.0;  // 127 * 256 + 127
//% else
var<workgroup> vector: array<vec4f, ${HELD * QUADS}>;
//% endif
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

// Puts the part of the vector that begins at chunk `start` into workgroup memory; returns the sum of the squares of what
// this invocation has put there. The next barrier ends it. Loads come in batches, so that their waits overlap.
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
            vector[i${j} % ${QUADS}u * ${HELD}u + i${j} / ${QUADS}u] = ${"bitcast<vec4u>(value" ~ j ~ ")" if FORMAT == "int4" else "value" ~ j};
        }
        //% endfor
    }
    return squares;
}

//% if FORMAT == "int4"
// Makes digits of the elements, after `hold` and a barrier; the next barrier ends it. An element that is not finite makes
// the factor of its chunk not finite.
fn divide_into_digits(lane: u32) {
    for (var c = lane; c < ${HELD}u; c += ${THREADS}u) {
        var bits = vec4u();
        //% for q in range(QUADS)
        let quad${q} = vector[${q * HELD}u + c];
        bits = max(bits, quad${q} & vec4u(0x7fffffffu));  // larger for what is larger, most of all for NaN
        //% endfor
        let largest = bitcast<f32>(max(max(bits.x, bits.y), max(bits.z, bits.w)));
        let scale = select(0.0, LARGEST / largest, largest > 1e-30);
        var sum = vec4i();  // of the rounded elements, as the products are
        //% for j in range(QUADS // 2)
        {
            let first = bitcast<vec4f>(quad${2 * j});
            let second = bitcast<vec4f>(quad${2 * j + 1});
            let even = vec4i(round(vec4f(first.xz, second.xz) * scale));
            let odd = vec4i(round(vec4f(first.yw, second.yw) * scale));
            sum += even + odd;
            vector[${j * HELD}u + c] = vec4u(high_digits(even), high_digits(odd), pack4xI8(even), pack4xI8(odd));
        }
        //% endfor
        let factor = largest / LARGEST;
        vector_scales[c] = vec2f(factor, f32(sum.x + sum.y + sum.z + sum.w) * factor);
    }
}

// What integers have beside their low digits, which are their lowest eight bits with a sign.
fn high_digits(values: vec4i) -> u32 {
    return pack4xI8((values + 128) >> vec4u(8u));
}
//% endif
