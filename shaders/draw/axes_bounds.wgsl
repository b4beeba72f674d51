// The box around everything that is drawn, for axes and the floor: computed in each frame, and never read back.
// `gather` reduces the positions of one layer to a box for each workgroup; `combine` merges all of them. It extends to round
// numbers and stays as it is while everything fits and fills half of it, so that it is calm when things move.
// In: positions. Out: bounds[0] and bounds[1], its low and its high corner; w is above 0 once there is one.
//% include "common/ticks.wgsl"

struct Rows {               // mirrored by renderer/annotations/axes_bounds.py
    count: u32,             // of rows, or of boxes
    first: u32,             // element of the first row
    stride: u32,            // elements from one row to the next
    slot: u32,              // of the first box
}

@group(0) @binding(0) var<uniform> rows: Rows;
@group(0) @binding(1) var<storage, read> values: array<${TYPE}>;
@group(0) @binding(2) var<storage, read_write> boxes: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> bounds: array<vec4f>;

const LARGEST = 3.4028234e38;
const LANES = 64u;
const FULL = 0.5;           // of the box, by its longest edge: filled less, it is drawn closer

var<workgroup> low: array<vec4f, LANES>;
var<workgroup> high: array<vec4f, LANES>;

fn take(lane: u32, other_low: vec4f, other_high: vec4f) {
    low[lane] = vec4f(min(low[lane].xyz, other_low.xyz), low[lane].w + other_low.w);
    high[lane] = vec4f(max(high[lane].xyz, other_high.xyz), low[lane].w);
}

// The box of all lanes, into the first.
fn join_lanes(lane: u32) {
    for (var step = LANES / 2u; step > 0u; step /= 2u) {
        workgroupBarrier();
        if lane < step { take(lane, low[lane + step], high[lane + step]); }
    }
}

@compute @workgroup_size(64)
fn gather(
    @builtin(global_invocation_id) id: vec3u,
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
) {
    low[lane] = vec4f(vec3f(LARGEST), 0.0);
    high[lane] = vec4f(vec3f(-LARGEST), 0.0);
    for (var row = id.x; row < rows.count; row += groups.x * LANES) {
        let at = rows.first + row * rows.stride;
        let position = vec3f(f32(values[at]), f32(values[at + 1u]), f32(values[at + 2u]));
        // Judged by its bits: comparisons with NaN may be optimized away.
        let finite = (bitcast<vec3u>(position) & vec3u(0x7f800000u)) != vec3u(0x7f800000u);
        if all(finite) { take(lane, vec4f(position, 1.0), vec4f(position, 1.0)); }
    }
    join_lanes(lane);
    if lane == 0u {
        boxes[2u * (rows.slot + group.x)] = low[0];
        boxes[2u * (rows.slot + group.x) + 1u] = high[0];
    }
}

// One axis of the box, extended to half steps between its ticks.
fn rounded(low_end: f32, high_end: f32, longest: f32) -> vec2f {
    let span = high_end - low_end;
    if !(span > 1e-3 * longest) { return vec2f(low_end, high_end); }
    let step = round_step(0.1 * longest);
    let length = value_of(step.x, step.y);
    let slack = 1e-3;
    return vec2f(floor(low_end / length + slack), ceil(high_end / length - slack)) * length;
}

@compute @workgroup_size(64)
fn combine(@builtin(local_invocation_index) lane: u32) {
    low[lane] = vec4f(vec3f(LARGEST), 0.0);
    high[lane] = vec4f(vec3f(-LARGEST), 0.0);
    for (var i = lane; i < rows.count; i += LANES) {
        if boxes[2u * i].w > 0.0 { take(lane, boxes[2u * i], boxes[2u * i + 1u]); }
    }
    join_lanes(lane);
    if lane > 0u || !(low[0].w > 0.0) { return; }
    let span = high[0].xyz - low[0].xyz;
    let longest = max(span.x, max(span.y, span.z));
    let old = bounds[1].xyz - bounds[0].xyz;
    let old_longest = max(old.x, max(old.y, old.z));
    let slack = 1e-4 * longest;
    let fits = all(low[0].xyz >= bounds[0].xyz - slack) && all(high[0].xyz <= bounds[1].xyz + slack);
    if bounds[1].w > 0.0 && fits && longest > FULL * old_longest { return; }
    for (var axis = 0u; axis < 3u; axis++) {
        let ends = rounded(low[0][axis], high[0][axis], longest);
        bounds[0][axis] = ends.x;
        bounds[1][axis] = ends.y;
    }
    bounds[1].w = 1.0;
}
