// Numerals of ten classes as lines: seven segments each, upright above the middle of the points of its class.

struct Fields { count: u32, lift: f32, size: f32 }
@group(0) @binding(0) var<uniform> fields: Fields;
@group(0) @binding(1) var<storage, read> point: array<f32>;
@group(0) @binding(2) var<storage, read> label: array<f32>;
@group(0) @binding(3) var<storage, read_write> numeral: array<f32>;   // 70 x 2 x 3: segments of class 0, then of 1

// The segments of 0 to 9 as bits: top, upper right, lower right, bottom, lower left, upper left, middle.
const LIT = array<u32, 10>(63u, 6u, 91u, 79u, 102u, 109u, 125u, 7u, 127u, 111u);
const ENDS = array<vec4f, 7>(
    vec4f(-1, 2, 1, 2), vec4f(1, 2, 1, 0), vec4f(1, 0, 1, -2), vec4f(1, -2, -1, -2), vec4f(-1, -2, -1, 0),
    vec4f(-1, 0, -1, 2), vec4f(-1, 0, 1, 0),
);
const FACING = vec2f(0.835, -0.55);    // in x and z, to the right in the image

var<workgroup> sums: array<vec4f, 64>;

// One workgroup for each class.
@compute @workgroup_size(64)
fn write(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    var sum = vec4f(0.0);
    for (var row = lane; row < fields.count; row += 64u) {
        if u32(label[row]) == group.x { sum += vec4f(point[3u * row], point[3u * row + 1u], point[3u * row + 2u], 1.0); }
    }
    sums[lane] = sum;
    for (var half = 32u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if lane < half { sums[lane] += sums[lane + half]; }
    }
    workgroupBarrier();
    if lane >= 7u { return; }
    let middle = sums[0].xyz / max(sums[0].w, 1.0) + vec3f(0.0, fields.lift, 0.0);
    let usual = select(2u, 0u, group.x == 2u);     // in place of those that are not lit
    let segment = ENDS[select(usual, lane, ((LIT[group.x] >> lane) & 1u) == 1u)];
    let base = 6u * (7u * group.x + lane);
    for (var end = 0u; end < 2u; end++) {
        let at = fields.size * select(segment.xy, segment.zw, end == 1u);
        let world = middle + vec3f(at.x * FACING.x, at.y, at.x * FACING.y);
        for (var k = 0u; k < 3u; k++) { numeral[base + 3u * end + k] = world[k]; }
    }
}
