// Rows normalized: by their root mean square (Zhang and Sennrich, 2019), or by mean and variance.
// In: INNER, NORM ("rms" or "layer"), SHIFT. Out: out, a workgroup for each row.

struct Params {
    epsilon: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> gain: array<f32>;
//% if SHIFT
@group(0) @binding(3) var<storage, read> shift: array<f32>;
//% endif
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

var<workgroup> sums: array<f32, 128>;

fn total(value: f32, lane: u32) -> f32 {
    sums[lane] = value;
    for (var left = 64u; left > 0u; left /= 2u) {
        workgroupBarrier();
        if lane < left {
            sums[lane] += sums[lane + left];
        }
    }
    workgroupBarrier();
    let sum = sums[0];
    workgroupBarrier();
    return sum;
}

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let first = group.x * ${INNER}u;
    var mean = 0.0;
    var sum = 0.0;
    //% if NORM == "layer"
    for (var i = lane; i < ${INNER}u; i += 128u) {
        sum += x[first + i];
    }
    mean = total(sum, lane) / ${INNER}.0;
    sum = 0.0;
    //% endif
    for (var i = lane; i < ${INNER}u; i += 128u) {
        let value = x[first + i] - mean;
        sum += value * value;
    }
    let scale = inverseSqrt(total(sum, lane) / ${INNER}.0 + params.epsilon);
    for (var i = lane; i < ${INNER}u; i += 128u) {
        //% if SHIFT
        out[first + i] = (x[first + i] - mean) * scale * gain[i] + shift[i];
        //% else
        out[first + i] = (x[first + i] - mean) * scale * gain[i];
        //% endif
    }
}
