// The vector of language/matvec.wgsl in workgroup memory: normalized, or added up from the parts of an attention.
// In: as in language/matvec.wgsl; HELD, chunks of it that are there at a time, of QUADS quads each; CHUNKS, of all of it.
//% import "common/packed_weights.wgsl" as packed with context
//% set BATCH = [4, (HELD * QUADS + THREADS - 1) // THREADS] | min

var<workgroup> vector: array<vec4f, ${HELD * QUADS}>;  // quad q of chunk c at q * HELD + c: neighbors read neighbors
//% if FORMAT == "int4"
var<workgroup> vector_sums: array<f32, ${HELD}>;
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
