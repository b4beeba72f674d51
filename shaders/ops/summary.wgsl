// Statistics of a strided tensor: range, mean, spread, what is not finite, and the first element that meets a condition;
// or of several tensors, without a condition. A workgroup reads params.chunk elements of one tensor and a tree in workgroup
// memory joins what its invocations found; where there are several workgroups, a second pass joins their records. The order depends on shapes only: the same input, the same bits.
// Mean and sum of squared deviations are updated element by element (Welford, Technometrics 4, 1962) and merged pairwise
// (Chan, Golub and LeVeque, The American Statistician 37, 1983), both relative to the first element: nothing cancels.
// In: PASS: "elements" or "records" are read, or elements are counted into "bins" between the ends that a record has;
//     "tensors": elements of several are read, or "rows": the records of each are joined;
//     FROM, the dtype read, or those of several; VALUE, the WGSL type that ends are compared in; RANK, axes of the tensor; BINS.
// Out: records of 13 words (see ops/summary.py, which reads them), or the counts.
//% import "common/element.wgsl" as element
//% import "common/index.wgsl" as index
//% set SEVERAL = PASS in ("tensors", "rows")
//% set FROMS = FROM if SEVERAL else [FROM]
//% if "f16" in FROMS
enable f16;
//% endif
//% include "common/math.wgsl"
//% set WORKGROUP = 256
//% set WORDS = 13

struct Params {
    chunk: u32,
    //% if SEVERAL
    //% for n in range(FROMS | length)
    count_${n}: u32,  // elements
    first_${n}: u32,  // number of the first of its chunks
    //% endfor
    //% else
    count: u32,  // elements or records
    //% endif
    //% if PASS == "elements"
    conditions: u32,  // 1: NaN, 2: infinite, 4: less than low, 8: more than high
    low: f32,
    high: f32,
    //% endif
    //% if PASS == "bins"
    record_offset: u32,
    //% endif
    //% if PASS == "tensors"
    //% for n in range(FROMS | length)
    source_${n}_offset: u32,
    //% endfor
    //% else
    source_offset: u32,
    //% endif
    out_offset: u32,
    //% if PASS in ("elements", "bins")
    shape: array<vec4u, 2>,
    source_strides: array<vec4i, 2>,
    //% endif
}

struct Record {
    finite: u32,
    nan: u32,
    above_all: u32,  // +infinity
    below_all: u32,  // -infinity
    least: ${VALUE},
    most: ${VALUE},
    mean: f32,  // less `base`
    squares: f32,  // of the deviations from the mean, added up
    first: u32,  // number of the first element that meets the condition, from 1; 0: none does
    met: u32,
    least_at: u32,
    most_at: u32,
    base: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
//% if PASS == "tensors"
//% for dtype in FROMS
@group(0) @binding(${2 + loop.index}) var<storage, read> source_${loop.index0}: ${element.storage(dtype)};
//% endfor

var<private> tensor: u32;  // which one is read
//% elif PASS in ("records", "rows")
@group(0) @binding(1) var<storage, read> source: array<u32>;
//% else
@group(0) @binding(1) var<storage, read> source: ${element.storage(FROM)};
//% endif
//% if PASS == "bins"
@group(0) @binding(2) var<storage, read> record: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<atomic<u32>>;

var<workgroup> counts: array<atomic<u32>, ${BINS}>;
//% else
@group(0) @binding(2) var<storage, read_write> out: array<u32>;

var<workgroup> tree: array<Record, ${WORKGROUP}>;
//% endif

//% if PASS == "tensors"
// Four elements of an invocation, so that the tensor is chosen once for them; beyond the end they are the last one.
fn four(number: u32, end: u32) -> vec4f {
    let at = min(vec4u(number) + ${WORKGROUP}u * vec4u(0u, 1u, 2u, 3u), vec4u(end - 1u));
    switch tensor {
        //% for dtype in FROMS
        ${"default" if loop.last else "case %du" % loop.index0}: {
            let i = params.source_${loop.index0}_offset + at;
            //% set name = "source_%d" % loop.index0
            return vec4f(f32(${name}[i.x]), f32(${name}[i.y]), f32(${name}[i.z]), f32(${name}[i.w]));
        }
        //% endfor
    }
}
//% elif PASS in ("elements", "bins")
fn element(number: u32) -> ${VALUE} {
    ${index.walk("number", RANK, ["source"])}
    return ${VALUE}(${element.load("source", FROM, "u32(source_at)")});
}
//% endif

//% if PASS != "bins"
fn merged(a: Record, b: Record) -> Record {
    if b.finite + b.nan + b.above_all + b.below_all == 0u {
        return a;
    }
    var r = a;
    r.base = b.base;  // the same in all, except in empty records
    r.nan += b.nan;
    r.above_all += b.above_all;
    r.below_all += b.below_all;
    r.met += b.met;
    if b.first != 0u && (a.first == 0u || b.first < a.first) {
        r.first = b.first;
    }
    if b.finite == 0u {
        return r;
    }
    if a.finite == 0u || b.least < a.least || (b.least == a.least && b.least_at < a.least_at) {
        r.least = b.least;
        r.least_at = b.least_at;
    }
    if a.finite == 0u || b.most > a.most || (b.most == a.most && b.most_at < a.most_at) {
        r.most = b.most;
        r.most_at = b.most_at;
    }
    r.finite += b.finite;
    let weight = f32(b.finite) / f32(r.finite);
    let difference = b.mean - a.mean;
    r.mean = a.mean + difference * weight;
    r.squares = a.squares + b.squares + difference * difference * weight * f32(a.finite);
    return r;
}
//% endif

//% if PASS in ("elements", "tensors")
fn meets(x: f32) -> bool {
    //% if PASS == "tensors"
    return false;
    //% else
    return ((params.conditions & 1u) != 0u && is_nan(x))
        || ((params.conditions & 2u) != 0u && is_inf(x))
        || ((params.conditions & 4u) != 0u && !is_nan(x) && x < params.low)
        || ((params.conditions & 8u) != 0u && !is_nan(x) && x > params.high);
    //% endif
}

fn found(lane: u32, begin: u32, end: u32) -> Record {
    var r = Record();
    let start = ${"four(0u, 1u).x" if PASS == "tensors" else "f32(element(0u))"};
    r.base = select(start, 0.0, is_nan(start) || is_inf(start));
    //% if PASS == "tensors"
    var values: vec4f;
    //% endif
    for (var i = begin + lane; i < end; i += ${WORKGROUP}u) {
        //% if PASS == "tensors"
        let k = (i - begin) / ${WORKGROUP}u & 3u;
        if k == 0u {
            values = four(i, end);
        }
        let value = values[k];
        //% else
        let value = element(i);
        //% endif
        let x = f32(value);
        if meets(x) {
            r.met += 1u;
            r.first = select(r.first, i + 1u, r.first == 0u);
        }
        if is_nan(x) {
            r.nan += 1u;
        } else if is_inf(x) {
            r.above_all += select(0u, 1u, x > 0.0);
            r.below_all += select(0u, 1u, x < 0.0);
        } else {
            if r.finite == 0u || value < r.least {
                r.least = value;
                r.least_at = i;
            }
            if r.finite == 0u || value > r.most {
                r.most = value;
                r.most_at = i;
            }
            r.finite += 1u;
            let y = x - r.base;
            let difference = y - r.mean;
            r.mean += difference / f32(r.finite);
            r.squares += difference * (y - r.mean);
        }
    }
    return r;
}
//% elif PASS in ("records", "rows")
fn found(lane: u32, begin: u32, end: u32) -> Record {
    var r = Record();
    for (var i = begin + lane; i < end; i += ${WORKGROUP}u) {
        let at = params.source_offset + ${WORDS}u * i;
        r = merged(r, Record(
            source[at], source[at + 1u], source[at + 2u], source[at + 3u],
            bitcast<${VALUE}>(source[at + 4u]), bitcast<${VALUE}>(source[at + 5u]),
            bitcast<f32>(source[at + 6u]), bitcast<f32>(source[at + 7u]),
            source[at + 8u], source[at + 9u], source[at + 10u], source[at + 11u],
            bitcast<f32>(source[at + 12u]),
        ));
    }
    return r;
}
//% endif

//% if PASS == "bins"
// Half of a number, by its exponent: the half of a difference of two may become that of their infinite difference.
fn half_of(x: f32) -> f32 {
    let bits = bitcast<u32>(x);
    return select(0.5 * x, bitcast<f32>(bits - 0x00800000u), ((bits >> 23u) & 255u) > 1u);
}

fn counted(lane: u32, begin: u32, end: u32) {
    // halves, so that the distance of the ends does not overflow
    let least = half_of(f32(bitcast<${VALUE}>(record[params.record_offset + 4u])));
    let width = half_of(f32(bitcast<${VALUE}>(record[params.record_offset + 5u]))) - least;
    // 2^-60: some divide with 1 / width, which is 0 where the width is larger than 2^126
    let unit = select(1.0, 8.673617379884035e-19, width > 1e18);
    for (var i = begin + lane; i < end; i += ${WORKGROUP}u) {
        let x = f32(element(i));
        if !is_nan(x) && !is_inf(x) {
            let bin = u32(clamp((half_of(x) - least) * unit / (width * unit) * ${BINS}.0, 0.0, ${BINS - 1}.0));
            atomicAdd(&counts[select(bin, ${BINS // 2}u, width <= 0.0)], 1u);
        }
    }
}
//% endif

@compute @workgroup_size(${WORKGROUP})
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = group.y * num_workgroups.x + group.x;
    //% if PASS == "tensors"
    var count = params.count_0;
    var chunk = number;  // of its tensor
    //% for n in range(1, FROMS | length)
    if number >= params.first_${n} {
        tensor = ${n}u;
        count = params.count_${n};
        chunk = number - params.first_${n};
    }
    //% endfor
    let begin = chunk * params.chunk;
    if begin >= count {
        return;
    }
    let end = begin + min(params.chunk, count - begin);
    //% elif PASS == "rows"
    var begin = 0u;
    var end = 0u;
    switch number {
        //% for n in range(FROMS | length)
        case ${n}u: {
            begin = params.first_${n};
            end = begin + (params.count_${n} - 1u) / params.chunk + 1u;
        }
        //% endfor
        default: {
            return;
        }
    }
    //% else
    let begin = number * params.chunk;
    if begin >= params.count {
        return;
    }
    let end = begin + min(params.chunk, params.count - begin);
    //% endif
    //% if PASS == "bins"
    for (var bin = lane; bin < ${BINS}u; bin += ${WORKGROUP}u) {
        atomicStore(&counts[bin], 0u);
    }
    workgroupBarrier();
    counted(lane, begin, end);
    workgroupBarrier();
    for (var bin = lane; bin < ${BINS}u; bin += ${WORKGROUP}u) {
        let count = atomicLoad(&counts[bin]);
        if count != 0u {
            atomicAdd(&out[params.out_offset + bin], count);
        }
    }
    //% else
    tree[lane] = found(lane, begin, end);
    //% for step in range(1, 9)
    //% set half = WORKGROUP // 2 ** step
    workgroupBarrier();
    if lane < ${half}u {
        tree[lane] = merged(tree[lane], tree[lane + ${half}u]);
    }
    //% endfor
    if lane == 0u {
        let r = tree[0];
        let at = params.out_offset + ${WORDS}u * number;
        out[at] = r.finite;
        out[at + 1u] = r.nan;
        out[at + 2u] = r.above_all;
        out[at + 3u] = r.below_all;
        out[at + 4u] = bitcast<u32>(r.least);
        out[at + 5u] = bitcast<u32>(r.most);
        out[at + 6u] = bitcast<u32>(r.mean);
        out[at + 7u] = bitcast<u32>(r.squares);
        out[at + 8u] = r.first;
        out[at + 9u] = r.met;
        out[at + 10u] = r.least_at;
        out[at + 11u] = r.most_at;
        out[at + 12u] = bitcast<u32>(r.base);
    }
    //% endif
}
