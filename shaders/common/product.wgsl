// What kernels that multiply matrices share: operands, where the matrices of a batch are, what becomes of a sum.
// In: A, B, OUT, BIAS, RESIDUAL, dtypes of the operands, the result and what is added to it ("" for none);
//     A_WIDE, B_WIDE, RESIDUAL_WIDE, OUT_WIDE, whether each is read or written four elements at a time (the residual
//     only if the result is); A_COLUMN_MAJOR, whether elements of a are closer together down a column than along a row, and
//     B_COLUMN_MAJOR likewise of b; WHOLE, whether nothing is asked for beyond the inner axis; VALUE, the WGSL type summed in;
//     BIAS_BY_COLUMN, whether the bias is the same for all rows; SCALED, whether alpha and beta are used;
//     ACTIVATION, an expression over `x`, as ops/activation.py writes it.
// result = activation(alpha a b + beta bias + residual)
//% import "common/element.wgsl" as element
//% if "f16" in (A, B, OUT, BIAS, RESIDUAL)
enable f16;
//% endif
//% set ADDED = (["bias"] if BIAS else []) + (["residual"] if RESIDUAL else [])
//% if ACTIVATION != "x"
//% include "common/math.wgsl"
//% include "common/activation.wgsl"
//% endif

struct Params {
    rows: u32,
    columns: u32,
    inner: u32,
    batches: u32,
    batch_axes: u32,
    //% if SCALED
    alpha: f32,
    beta: f32,
    //% endif
    activation: vec2f,  // its parameters
    batch: array<vec4u, 2>,
    //% for name in ["a", "b", "out"] + ADDED
    ${name}_offset: u32,
    ${name}_strides: vec2i,         // from row to row, from column to column
    ${name}_steps: array<vec4i, 2>, // along the axes of the batch
    //% endfor
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: ${"array<vec4<" ~ A ~ ">>" if A_WIDE else element.storage(A)};
@group(0) @binding(2) var<storage, read> b: ${"array<vec4<" ~ B ~ ">>" if B_WIDE else element.storage(B)};
@group(0) @binding(3) var<storage, read_write> out: ${"array<vec4<" ~ OUT ~ ">>" if OUT_WIDE else element.storage(OUT)};
//% if BIAS
@group(0) @binding(4) var<storage, read> bias: ${element.storage(BIAS)};
//% endif
//% if RESIDUAL
@group(0) @binding(5) var<storage, read> residual: ${"array<vec4<" ~ RESIDUAL ~ ">>" if RESIDUAL_WIDE else element.storage(RESIDUAL)};
//% endif

// Where the matrices of one product begin, in elements.
struct Offsets {
    //% for name in ["a", "b", "out"] + ADDED
    ${name}: i32,
    //% endfor
}

fn offsets_of(product: u32) -> Offsets {
    var at = Offsets(
        //% for name in ["a", "b", "out"] + ADDED
        i32(params.${name}_offset),
        //% endfor
    );
    var rest = product;
    for (var axis = params.batch_axes; axis > 0u; axis -= 1u) {
        let word = (axis - 1u) / 4u;
        let part = (axis - 1u) % 4u;
        let index = i32(rest % params.batch[word][part]);
        rest = rest / params.batch[word][part];
        //% for name in ["a", "b", "out"] + ADDED
        at.${name} += index * params.${name}_steps[word][part];
        //% endfor
    }
    return at;
}

fn element_a(base: i32, row: u32, k: u32) -> ${VALUE} {
    if row >= params.rows${"" if WHOLE else " || k >= params.inner"} {
        return ${VALUE}(0);
    }
    let at = base + i32(row) * params.a_strides.x + i32(k) * params.a_strides.y;
    return ${VALUE}(${"a[at >> 2u][at & 3]" if A_WIDE else element.load("a", A, "u32(at)")});
}

fn element_b(base: i32, k: u32, column: u32) -> ${VALUE} {
    if column >= params.columns${"" if WHOLE else " || k >= params.inner"} {
        return ${VALUE}(0);
    }
    let at = base + i32(k) * params.b_strides.x + i32(column) * params.b_strides.y;
    return ${VALUE}(${"b[at >> 2u][at & 3]" if B_WIDE else element.load("b", B, "u32(at)")});
}

// Four contiguous elements: of a along the inner axis, or along the rows if A_COLUMN_MAJOR; of b along the columns, or
// along the inner axis if B_COLUMN_MAJOR.
// Beyond the inner axis they are 0; beyond the last row or column they may be anything.
fn quad_a(base: i32, row: u32, k: u32) -> vec4<${VALUE}> {
    //% if A_WIDE
    //% if not WHOLE
    if k >= params.inner {
        return vec4<${VALUE}>();
    }
    //% endif
    let inside = min(row, params.rows - ${4 if A_COLUMN_MAJOR else 1}u);
    return vec4<${VALUE}>(a[(base + i32(inside) * params.a_strides.x + i32(k) * params.a_strides.y) >> 2u]);
    //% else
    return vec4<${VALUE}>(
        //% for i in range(4)
        element_a(base, row + ${i if A_COLUMN_MAJOR else 0}u, k + ${0 if A_COLUMN_MAJOR else i}u),
        //% endfor
    );
    //% endif
}

fn quad_b(base: i32, k: u32, column: u32) -> vec4<${VALUE}> {
    //% if B_WIDE
    //% if not WHOLE
    if k >= params.inner {
        return vec4<${VALUE}>();
    }
    //% endif
    let inside = min(column, params.columns - ${1 if B_COLUMN_MAJOR else 4}u);
    return vec4<${VALUE}>(b[(base + i32(k) * params.b_strides.x + i32(inside) * params.b_strides.y) >> 2u]);
    //% else
    return vec4<${VALUE}>(
        //% for i in range(4)
        element_b(base, k + ${i if B_COLUMN_MAJOR else 0}u, column + ${0 if B_COLUMN_MAJOR else i}u),
        //% endfor
    );
    //% endif
}

fn activate(x: ${VALUE}) -> ${VALUE} {
    return ${ACTIVATION};
}

// The bias of one column, for all rows; `column` may be beyond the last.
fn column_bias(at: Offsets, column: u32) -> ${VALUE} {
    //% if BIAS and BIAS_BY_COLUMN
    return ${VALUE}(bias[at.bias + i32(min(column, params.columns - 1u)) * params.bias_strides.y]);
    //% else
    return ${VALUE}(0);
    //% endif
}

// What is stored for a sum at (i, j); `shift` is its column's bias.
fn finished(at: Offsets, i: i32, j: i32, sum: ${VALUE}, shift: ${VALUE}, rest: ${VALUE}) -> ${VALUE} {
    var x = sum;
    //% if SCALED
    x *= params.alpha;
    //% endif
    //% if BIAS and BIAS_BY_COLUMN
    x += ${"params.beta * " if SCALED else ""}shift;
    //% elif BIAS
    let own = ${VALUE}(bias[at.bias + i * params.bias_strides.x + j * params.bias_strides.y]);
    x += ${"params.beta * " if SCALED else ""}own;
    //% endif
    //% if RESIDUAL and RESIDUAL_WIDE
    x += rest;
    //% elif RESIDUAL
    x += ${VALUE}(residual[at.residual + i * params.residual_strides.x + j * params.residual_strides.y]);
    //% endif
    return activate(x);
}

fn write(at: Offsets, row: u32, column: u32, sum: ${VALUE}, shift: ${VALUE}, rest: ${VALUE}) {
    if row < params.rows && column < params.columns {
        let i = i32(row);
        let j = i32(column);
        let index = at.out + i * params.out_strides.x + j * params.out_strides.y;
        //% if OUT_WIDE
        out[index >> 2u][index & 3] = ${OUT}(finished(at, i, j, sum, shift, rest));
        //% else
        out[index] = ${OUT}(finished(at, i, j, sum, shift, rest));
        //% endif
    }
}

// Store four contiguous sums, those that are inside; `shift` is the bias of their columns.
fn write_quad(at: Offsets, row: u32, column: u32, sum: vec4<${VALUE}>, shift: vec4<${VALUE}>) {
    var rest = vec4<${VALUE}>();
    //% if RESIDUAL and RESIDUAL_WIDE
    if row < params.rows && column < params.columns {
        let index = at.residual + i32(row) * params.residual_strides.x + i32(column);
        rest = vec4<${VALUE}>(residual[index >> 2u]);
    }
    //% endif
    //% if OUT_WIDE
    if row < params.rows && column < params.columns {
        let i = i32(row);
        let j = i32(column);
        out[(at.out + i * params.out_strides.x + j) >> 2u] = vec4<${OUT}>(vec4<${VALUE}>(
            //% for n in range(4)
            finished(at, i, j + ${n}, sum[${n}], shift[${n}], rest[${n}]),
            //% endfor
        ));
    }
    //% else
    //% for n in range(4)
    write(at, row, column + ${n}u, sum[${n}], shift[${n}], rest[${n}]);
    //% endfor
    //% endif
}
