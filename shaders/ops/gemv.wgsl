// Products of a few rows with a matrix, in batches, with any strides: what counts is to read the matrix once, and fast.
// A workgroup makes 4 QUADS columns of one product. Its LINES = THREADS / QUADS invocations for each four columns share
// the inner axis among them, every one with TURNS reads pending at a time; their sums are added in workgroup memory.
// In: what common/product.wgsl names; ROWS, rows of a, written out by the template; THREADS and QUADS, powers of two;
//     TURNS; LOOPED, whether rows are finished in a loop, not written out, which is compiled sooner.
// Out: out[batch] = activation(alpha a[batch] b[batch] + beta bias + residual) for each of params.batches.
//% include "common/product.wgsl"
//% set LINES = THREADS // QUADS

var<workgroup> partial: array<vec4<${VALUE}>, ${THREADS}>;

// Four elements of a row of a along the inner axis.
fn along_a(base: i32, row: u32, k: u32) -> vec4<${VALUE}> {
    //% if A_COLUMN_MAJOR
    return vec4<${VALUE}>(
        //% for i in range(4)
        element_a(base, row, k + ${i}u),
        //% endfor
    );
    //% else
    return quad_a(base, row, k);
    //% endif
}

@compute @workgroup_size(${THREADS})
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = group.y * num_workgroups.x + group.x;
    let across = (params.columns + ${4 * QUADS - 1}u) / ${4 * QUADS}u;
    if number / across >= params.batches {
        return;
    }
    let at = offsets_of(number / across);
    // neighbors read neighbors in memory
    //% if B_COLUMN_MAJOR
    let quad = lane / ${LINES}u;
    let line = lane % ${LINES}u;
    //% else
    let quad = lane % ${QUADS}u;
    let line = lane / ${QUADS}u;
    //% endif
    let column = (number % across * ${QUADS}u + quad) * 4u;

    //% for row in range(ROWS)
    var sum${row} = vec4<${VALUE}>();
    //% endfor
    //% if B_COLUMN_MAJOR
    //% for row in range(ROWS)
    //% for j in range(4)
    var sum${row}_${j} = vec4<${VALUE}>();
    //% endfor
    //% endfor
    for (var k = 4u * line; k < params.inner; k += ${4 * LINES * TURNS}u) {
        //% for turn in range(TURNS)
        //% for j in range(4)
        let right${turn}_${j} = quad_b(at.b, k + ${4 * LINES * turn}u, column + ${j}u);
        //% endfor
        //% endfor
        //% for turn in range(TURNS)
        //% for row in range(ROWS)
        {
            let left = along_a(at.a, ${row}u, k + ${4 * LINES * turn}u);
            //% for j in range(4)
            sum${row}_${j} += left * right${turn}_${j};
            //% endfor
        }
        //% endfor
        //% endfor
    }
    //% for row in range(ROWS)
    //% for j in range(4)
    sum${row}[${j}] = sum${row}_${j}.x + sum${row}_${j}.y + sum${row}_${j}.z + sum${row}_${j}.w;
    //% endfor
    //% endfor
    //% else
    for (var k = line; k < params.inner; k += ${LINES * TURNS}u) {
        //% for turn in range(TURNS)
        let right${turn} = quad_b(at.b, k + ${LINES * turn}u, column);
        //% endfor
        //% for turn in range(TURNS)
        //% for row in range(ROWS)
        sum${row} += element_a(at.a, ${row}u, k + ${LINES * turn}u) * right${turn};
        //% endfor
        //% endfor
    }
    //% endif

    //% macro finish(row, sum)
    partial[line * ${QUADS}u + quad] = ${sum};
    workgroupBarrier();
    for (var lines = ${LINES}u; lines > 1u; lines = max(lines / 8u, 1u)) {
        let left = max(lines / 8u, 1u);
        if line < left {
            var total = partial[line * ${QUADS}u + quad];
            for (var other = line + left; other < lines; other += left) {
                total += partial[other * ${QUADS}u + quad];
            }
            partial[line * ${QUADS}u + quad] = total;
        }
        workgroupBarrier();
    }
    if line == 0u {
        let shift = vec4<${VALUE}>(
            //% for j in range(4)
            column_bias(at, column + ${j}u),
            //% endfor
        );
        write_quad(at, ${row}, column, partial[quad], shift);
    }
    workgroupBarrier();
    //%- endmacro
    //% if LOOPED
    for (var row = 0u; row < ${ROWS}u; row += 1u) {
        var sum = sum0;
        //% for row in range(1, ROWS)
        sum = select(sum, sum${row}, row == ${row}u);
        //% endfor
        ${finish("row", "sum")}
    }
    //% else
    //% for row in range(ROWS)
    ${finish(row ~ "u", "sum" ~ row)}
    //% endfor
    //% endif
}
