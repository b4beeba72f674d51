// Products of matrices, in batches, with any strides.
// A workgroup of 16 x 16 makes a tile of 64 x 64 of one product. It goes along the inner axis in steps of 16, with both
// operands' part in workgroup memory; each invocation makes 4 x 4 elements, as four rows of vec4 (written out by the
// template: an array indexed at run time would lie in slow memory).
// In: A, B, OUT, the dtypes of the operands and the result; VALUE, the WGSL type summed in;
//     A_DOWN, whether elements of a lie closer together down a column than along a row, and B_DOWN likewise of b.
// Out: out[batch] = a[batch] b[batch] for each of params.batches.
//% import "common/element.wgsl" as element
//% if "f16" in (A, B, OUT)
enable f16;
//% endif
//% set SIDE = 64
//% set STEP = 16
//% set QUADS = SIDE // 4
//% set ROW = QUADS + 1

struct Params {
    rows: u32,
    columns: u32,
    inner: u32,
    batches: u32,
    batch_axes: u32,
    a_offset: u32,
    b_offset: u32,
    out_offset: u32,
    a_strides: vec2i,  // from row to row, from column to column
    b_strides: vec2i,
    out_strides: vec2i,
    batch: array<vec4u, 2>,
    a_steps: array<vec4i, 2>,  // along the axes of the batch
    b_steps: array<vec4i, 2>,
    out_steps: array<vec4i, 2>,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: ${element.storage(A)};
@group(0) @binding(2) var<storage, read> b: ${element.storage(B)};
@group(0) @binding(3) var<storage, read_write> out: ${element.storage(OUT)};

// Four rows of a, or four columns of b, at one place of the inner axis; a vec4 of padding keeps banks apart.
var<workgroup> tile_a: array<vec4<${VALUE}>, ${STEP * ROW}>;
var<workgroup> tile_b: array<vec4<${VALUE}>, ${STEP * ROW}>;

fn element_a(base: i32, row: u32, k: u32) -> ${VALUE} {
    if row >= params.rows || k >= params.inner {
        return ${VALUE}(0);
    }
    let at = base + i32(row) * params.a_strides.x + i32(k) * params.a_strides.y;
    return ${VALUE}(${element.load("a", A, "u32(at)")});
}

fn element_b(base: i32, k: u32, column: u32) -> ${VALUE} {
    if column >= params.columns || k >= params.inner {
        return ${VALUE}(0);
    }
    let at = base + i32(k) * params.b_strides.x + i32(column) * params.b_strides.y;
    return ${VALUE}(${element.load("b", B, "u32(at)")});
}

fn write(base: i32, row: u32, column: u32, value: ${VALUE}) {
    if row < params.rows && column < params.columns {
        out[u32(base + i32(row) * params.out_strides.x + i32(column) * params.out_strides.y)] = ${OUT}(value);
    }
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = group.y * num_workgroups.x + group.x;
    let across = (params.columns + ${SIDE - 1}u) / ${SIDE}u;
    let down = (params.rows + ${SIDE - 1}u) / ${SIDE}u;
    let batch = number / across / down;
    if batch >= params.batches {
        return;
    }
    let first_row = number / across % down * ${SIDE}u;
    let first_column = number % across * ${SIDE}u;

    var a_at = i32(params.a_offset);
    var b_at = i32(params.b_offset);
    var out_at = i32(params.out_offset);
    var rest = batch;
    for (var axis = params.batch_axes; axis > 0u; axis -= 1u) {
        let word = (axis - 1u) / 4u;
        let part = (axis - 1u) % 4u;
        let at = i32(rest % params.batch[word][part]);
        rest = rest / params.batch[word][part];
        a_at += at * params.a_steps[word][part];
        b_at += at * params.b_steps[word][part];
        out_at += at * params.out_steps[word][part];
    }

    // neighbours read neighbours in memory
    let low = lane % 16u;
    let high = lane / 16u;
    let a_k = ${"high" if A_DOWN else "low"};
    let a_quad = ${"low" if A_DOWN else "high"};
    let b_k = ${"low" if B_DOWN else "high"};
    let b_quad = ${"high" if B_DOWN else "low"};
    //% for i in range(4)
    var sum${i} = vec4<${VALUE}>();
    //% endfor
    for (var k = 0u; k < params.inner; k += ${STEP}u) {
        let row = first_row + 4u * a_quad;
        let column = first_column + 4u * b_quad;
        tile_a[a_k * ${ROW}u + a_quad] = vec4<${VALUE}>(
            //% for i in range(4)
            element_a(a_at, row + ${i}u, k + a_k),
            //% endfor
        );
        tile_b[b_k * ${ROW}u + b_quad] = vec4<${VALUE}>(
            //% for i in range(4)
            element_b(b_at, k + b_k, column + ${i}u),
            //% endfor
        );
        workgroupBarrier();
        //% for step in range(STEP)
        {
            let left = tile_a[${step * ROW}u + high];
            let right = tile_b[${step * ROW}u + low];
            //% for i in range(4)
            sum${i} += left[${i}] * right;
            //% endfor
        }
        //% endfor
        workgroupBarrier();
    }
    //% for i in range(4)
    //% for j in range(4)
    write(out_at, first_row + 4u * high + ${i}u, first_column + 4u * low + ${j}u, sum${i}[${j}]);
    //% endfor
    //% endfor
}
