// The widest of the ranges that the invocations of a workgroup have found, in `found`. In: WORKGROUP, a power of two.

const LARGEST = 3.4028234e38;
const EMPTY_RANGE = vec2f(LARGEST, -LARGEST);

var<workgroup> found: array<vec2f, ${WORKGROUP}>;

fn wider(a: vec2f, b: vec2f) -> vec2f {
    return vec2f(min(a.x, b.x), max(a.y, b.y));
}

// `range` with a value in it, unless that is not finite: judged by its bits, comparisons with NaN may be optimized away.
fn with_value(range: vec2f, value: f32) -> vec2f {
    let finite = (bitcast<u32>(value) & 0x7f800000u) != 0x7f800000u;
    return select(range, wider(range, vec2f(value)), finite);
}

// The widest range of the workgroup, in its first invocation.
fn widest(mine: vec2f, lane: u32) -> vec2f {
    found[lane] = mine;
    for (var step = ${WORKGROUP}u / 2u; step > 0u; step /= 2u) {
        workgroupBarrier();
        if lane < step { found[lane] = wider(found[lane], found[lane + step]); }
    }
    return found[lane];
}
