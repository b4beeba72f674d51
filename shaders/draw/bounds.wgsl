// The box around many positions. Rows with a NaN or an infinity in them are passed over.
// `gather` reduces the rows to one box for each workgroup, `finish` those boxes to one.
// In: TYPE, the type of the coordinates. Out: boxes as pairs of corners, low and high; w is the number of rows in it.

struct Params {
    count: u32,             // of rows, or of boxes
    values_offset: u32,     // elements
    values_strides: u32,    // elements from one row to the next
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> values: array<${TYPE}>;
@group(0) @binding(2) var<storage, read_write> boxes: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> box: array<vec4f>;

const LARGEST = 3.4028234e38;

var<workgroup> low: array<vec4f, ${WORKGROUP}>;
var<workgroup> high: array<vec4f, ${WORKGROUP}>;

fn take(lane: u32, other_low: vec4f, other_high: vec4f) {
    let count = low[lane].w + other_low.w;
    low[lane] = vec4f(min(low[lane].xyz, other_low.xyz), count);
    high[lane] = vec4f(max(high[lane].xyz, other_high.xyz), count);
}

fn set_empty(lane: u32) {
    low[lane] = vec4f(vec3f(LARGEST), 0.0);
    high[lane] = vec4f(vec3f(-LARGEST), 0.0);
}

// The box of the whole workgroup, into its first lane.
fn gather_lanes(lane: u32) {
    for (var step = ${WORKGROUP}u / 2u; step > 0u; step /= 2u) {
        workgroupBarrier();
        if lane < step { take(lane, low[lane + step], high[lane + step]); }
    }
}

@compute @workgroup_size(${WORKGROUP})
fn gather(
    @builtin(global_invocation_id) id: vec3u,
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
) {
    set_empty(lane);
    for (var row = id.x; row < params.count; row += groups.x * ${WORKGROUP}u) {
        let at = params.values_offset + row * params.values_strides;
        let position = vec3f(f32(values[at]), f32(values[at + 1u]), f32(values[at + 2u]));
        // Judged by its bits: comparisons with NaN may be optimized away.
        let finite = (bitcast<vec3u>(position) & vec3u(0x7f800000u)) != vec3u(0x7f800000u);
        if all(finite) { take(lane, vec4f(position, 1.0), vec4f(position, 1.0)); }
    }
    gather_lanes(lane);
    if lane == 0u {
        boxes[2u * group.x] = low[0];
        boxes[2u * group.x + 1u] = high[0];
    }
}

@compute @workgroup_size(${WORKGROUP})
fn finish(@builtin(local_invocation_index) lane: u32) {
    set_empty(lane);
    for (var i = lane; i < params.count; i += ${WORKGROUP}u) { take(lane, boxes[2u * i], boxes[2u * i + 1u]); }
    gather_lanes(lane);
    if lane == 0u {
        box[0] = low[0];
        box[1] = high[0];
    }
}
