// Rows of x brought to mean 0 and variance 1 (or to a mean square of 1), then scaled and shifted.
// A workgroup of LANES x ROWS invocations takes ROWS rows: LANES invocations go along one together. The variance is that
// of the differences from the mean: squares of large values would lose it.
// In: X, SCALE, SHIFT, OUT, dtypes ("" for what is not there); LANES, ROWS, powers of two; EACH, how many elements an
//     invocation takes and keeps in registers, 0 if it takes any number and reads them again; CENTERED, whether the mean is
//     taken off; STATISTICS, whether mean and 1 / deviation are stored.
// Out: out[r, i] = (x[r, i] - mean) / sqrt(variance + epsilon) * scale + shift, for params.rows x params.count elements.
//% import "common/element.wgsl" as element
//% if "f16" in (X, SCALE, SHIFT, OUT)
enable f16;
//% endif
//% set WORKGROUP = LANES * ROWS

struct Params {
    rows: u32,
    count: u32,
    period: u32,     // rows until scale and shift repeat
    row_step: u32,   // elements of scale from one row to the next
    run: u32,        // elements of a row that have one scale
    epsilon: f32,
    x_offset: u32,
    scale_offset: u32,
    shift_offset: u32,
    out_offset: u32,
    mean_offset: u32,
    inverse_offset: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: ${element.storage(X)};
@group(0) @binding(2) var<storage, read_write> out: ${element.storage(OUT)};
//% if SCALE
@group(0) @binding(3) var<storage, read> scale: ${element.storage(SCALE)};
//% endif
//% if SHIFT
@group(0) @binding(4) var<storage, read> shift: ${element.storage(SHIFT)};
//% endif
//% if STATISTICS
@group(0) @binding(5) var<storage, read_write> mean: array<f32>;
@group(0) @binding(6) var<storage, read_write> inverse: array<f32>;
//% endif

var<workgroup> sums: array<f32, ${WORKGROUP}>;

// The sum over a row of what its invocations give, for each of them.
fn sum_over_row(value: f32, lane: u32, column: u32) -> f32 {
    sums[lane] = value;
    //% for step in range(1, 9)
    //% set half = LANES // 2 ** step
    //% if half >= 1
    workgroupBarrier();
    if column < ${half}u {
        sums[lane] += sums[lane + ${half}u];
    }
    //% endif
    //% endfor
    workgroupBarrier();
    let total = sums[lane - column];
    workgroupBarrier();
    return total;
}

@compute @workgroup_size(${WORKGROUP})
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let row = (group.y * num_workgroups.x + group.x) * ${ROWS}u + lane / ${LANES}u;
    let column = lane % ${LANES}u;
    let is_there = row < params.rows;
    let count = select(0u, params.count, is_there);
    let x_at = params.x_offset + row * params.count;
    var center = 0.0;
    //% for e in range(EACH)
    var loaded${e} = 0.0;
    if column + ${e * LANES}u < count {
        loaded${e} = f32(x[x_at + column + ${e * LANES}u]);
    }
    //% endfor
    //% if CENTERED
    var total = 0.0;
    //% if EACH
    //% for e in range(EACH)
    total += loaded${e};
    //% endfor
    //% else
    for (var i = column; i < count; i += ${LANES}u) {
        total += f32(x[x_at + i]);
    }
    //% endif
    center = sum_over_row(total, lane, column) / f32(params.count);
    //% endif
    var squares = 0.0;
    var differences = 0.0;
    //% if EACH
    //% for e in range(EACH)
    if column + ${e * LANES}u < count {
        let difference = loaded${e} - center;
        squares += difference * difference;
        differences += difference;
    }
    //% endfor
    //% else
    for (var i = column; i < count; i += ${LANES}u) {
        let difference = f32(x[x_at + i]) - center;
        squares += difference * difference;
        differences += difference;
    }
    //% endif
    var variance = sum_over_row(squares, lane, column) / f32(params.count);
    var rest = 0.0;  // what rounding has taken from the mean
    //% if CENTERED
    rest = sum_over_row(differences, lane, column) / f32(params.count);
    variance -= rest * rest;
    //% endif
    let factor = 1.0 / sqrt(variance + params.epsilon);
    //% if STATISTICS
    if is_there && column == 0u {
        mean[params.mean_offset + row] = center + rest;
        inverse[params.inverse_offset + row] = factor;
    }
    //% endif
    let first = row % params.period * params.row_step;
    //% macro write(i, loaded)
        var value = ((${loaded} - center) - rest) * factor;
        //% if SCALE
        value *= f32(${element.load("scale", SCALE, "params.scale_offset + first + " ~ i ~ " / params.run")});
        //% endif
        //% if SHIFT
        value += f32(${element.load("shift", SHIFT, "params.shift_offset + first + " ~ i ~ " / params.run")});
        //% endif
        out[params.out_offset + row * params.count + ${i}] = ${OUT}(value);
    //%- endmacro
    //% if EACH
    //% for e in range(EACH)
    if column + ${e * LANES}u < count {
        ${write("(column + " ~ e * LANES ~ "u)", "loaded" ~ e)}
    }
    //% endfor
    //% else
    for (var i = column; i < count; i += ${LANES}u) {
        ${write("i", "f32(x[x_at + i])")}
    }
    //% endif
}
