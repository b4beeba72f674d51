// Products of matrices, in batches, with any strides.
// A workgroup makes a tile of ROWS x COLUMNS of one product. It goes along the inner axis in steps of STEP, with both
// operands' part in workgroup memory, where four rows of a, or four columns of b, are together. There are two buffers:
// after LATE offsets_of of a step the next step's part goes from registers into the other one, and the part of the step
// after that is fetched. Each invocation makes EACH_ROWS x EACH_COLUMNS elements, all written out by the template.
// In: what common/product.wgsl names; the sizes above, multiples of 4; LANES, how many invocations of a row of 32 are
//     contiguous; BAND, how many rows of tiles are computed together, for the sake of the cache.
// Out: out[batch] = activation(alpha a[batch] b[batch] + beta bias + residual) for each of params.batches.
//% import "common/outer.wgsl" as outer
//% include "common/product.wgsl"
//% set DOWN = ROWS // EACH_ROWS
//% set ACROSS = COLUMNS // EACH_COLUMNS
//% set THREADS = DOWN * ACROSS
//% set LATE = STEP * 3 // 4
//% set ROW_QUADS = ROWS // 4
//% set COLUMN_QUADS = COLUMNS // 4
//% set A_LINE = ROW_QUADS + (0 if A_COLUMN_MAJOR else 1)
//% set B_LINE = COLUMN_QUADS + (1 if B_COLUMN_MAJOR else 0)
//% set A_PART = A_LINE * STEP
//% set B_PART = B_LINE * STEP
//% set A_COUNT = ROW_QUADS * STEP
//% set B_COUNT = COLUMN_QUADS * STEP
//% set A_TURNS = (A_COUNT + THREADS - 1) // THREADS
//% set B_TURNS = (B_COUNT + THREADS - 1) // THREADS

// A line for each index of the inner axis; where elements are put in singly, a quad of padding avoids bank conflicts.
var<workgroup> tile_a: array<vec4<${VALUE}>, ${2 * A_PART}>;
var<workgroup> tile_b: array<vec4<${VALUE}>, ${2 * B_PART}>;

//% macro guard(count, turn)
//% if count < (turn + 1) * THREADS
if lane + ${turn * THREADS}u < ${count}u {
//%- else
{
//%- endif
//%- endmacro

//% macro fetch(k)
//% for turn in range(A_TURNS)
${guard(A_COUNT, turn)}
    next_a${turn} = quad_a(at.a, a_row${turn}, ${k} + a_k${turn});
}
//% endfor
//% for turn in range(B_TURNS)
${guard(B_COUNT, turn)}
    next_b${turn} = quad_b(at.b, ${k} + b_k${turn}, b_column${turn});
}
//% endfor
//%- endmacro

//% macro put(buffer)
//% for turn in range(A_TURNS)
${guard(A_COUNT, turn)}
    let local_row = a_row${turn} - first_row;
    let home = ${buffer * A_PART}u + a_k${turn} * ${A_LINE}u + local_row / 4u;
    //% if A_COLUMN_MAJOR
    tile_a[home] = next_a${turn};
    //% else
    //% for i in range(4)
    tile_a[home + ${i * A_LINE}u][local_row % 4u] = next_a${turn}[${i}];
    //% endfor
    //% endif
}
//% endfor
//% for turn in range(B_TURNS)
${guard(B_COUNT, turn)}
    let local_column = b_column${turn} - first_column;
    let home = ${buffer * B_PART}u + b_k${turn} * ${B_LINE}u + local_column / 4u;
    //% if B_COLUMN_MAJOR
    //% for i in range(4)
    tile_b[home + ${i * B_LINE}u][local_column % 4u] = next_b${turn}[${i}];
    //% endfor
    //% else
    tile_b[home] = next_b${turn};
    //% endif
}
//% endfor
//%- endmacro

//% macro multiply(buffer, steps)
//% for step in steps
{
    //% for n in range(EACH_ROWS // 4)
    let left${n} = tile_a[my_row + ${buffer * A_PART + step * A_LINE + n * DOWN}u];
    //% endfor
    //% for q in range(EACH_COLUMNS // 4)
    let right${q} = tile_b[my_column + ${buffer * B_PART + step * B_LINE + q * ACROSS}u];
    //% endfor
    ${outer.accumulate(EACH_ROWS, EACH_COLUMNS // 4, VALUE)}
}
//% endfor
//%- endmacro

@compute @workgroup_size(${THREADS})
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = group.y * num_workgroups.x + group.x;
    let tiles_across = (params.columns + ${COLUMNS - 1}u) / ${COLUMNS}u;
    let tiles_down = (params.rows + ${ROWS - 1}u) / ${ROWS}u;
    let product = number / (tiles_across * tiles_down);
    if product >= params.batches {
        return;
    }
    let at = offsets_of(product);
    // tiles of a band one column after the other
    let within = number % (tiles_across * tiles_down);
    let band = within / (${BAND}u * tiles_across);
    let height = min(tiles_down - band * ${BAND}u, ${BAND}u);
    let in_band = within % (${BAND}u * tiles_across);
    let first_row = (band * ${BAND}u + in_band % height) * ${ROWS}u;
    let first_column = in_band / height * ${COLUMNS}u;

    // a row of 32 invocations is a block of LANES across
    //% if ACROSS % LANES == 0 and DOWN % (32 // LANES) == 0
    let block = lane / 32u;
    let my_row = block / ${ACROSS // LANES}u * ${32 // LANES}u + lane % 32u / ${LANES}u;
    let my_column = block % ${ACROSS // LANES}u * ${LANES}u + lane % ${LANES}u;
    //% else
    let my_row = lane / ${ACROSS}u;
    let my_column = lane % ${ACROSS}u;
    //% endif

    // what this invocation fetches: neighbors fetch what is side by side
    //% for turn in range(A_TURNS)
    //% if A_COLUMN_MAJOR
    let a_row${turn} = first_row + (lane + ${turn * THREADS}u) % ${ROW_QUADS}u * 4u;
    let a_k${turn} = (lane + ${turn * THREADS}u) / ${ROW_QUADS}u;
    //% else
    let a_row${turn} = first_row + (lane + ${turn * THREADS}u) / ${STEP // 4}u;
    let a_k${turn} = (lane + ${turn * THREADS}u) % ${STEP // 4}u * 4u;
    //% endif
    var next_a${turn}: vec4<${VALUE}>;
    //% endfor
    //% for turn in range(B_TURNS)
    //% if B_COLUMN_MAJOR
    let b_column${turn} = first_column + (lane + ${turn * THREADS}u) / ${STEP // 4}u;
    let b_k${turn} = (lane + ${turn * THREADS}u) % ${STEP // 4}u * 4u;
    //% else
    let b_column${turn} = first_column + (lane + ${turn * THREADS}u) % ${COLUMN_QUADS}u * 4u;
    let b_k${turn} = (lane + ${turn * THREADS}u) / ${COLUMN_QUADS}u;
    //% endif
    var next_b${turn}: vec4<${VALUE}>;
    //% endfor

    ${outer.declare(EACH_ROWS, EACH_COLUMNS // 4, VALUE)}

    ${fetch("0u")}
    ${put(0)}
    if ${STEP}u < params.inner {
        ${fetch(STEP ~ "u")}
    }
    workgroupBarrier();
    // `k` is where the next step begins, which waits in registers; buffers take turns within one round of the loop
    for (var k = ${STEP}u; ; ) {
        //% for here in (0, 1)
        {
            let more = k < params.inner;
            ${multiply(here, range(LATE))}
            if more {
                ${put(1 - here)}
            }
            if k + ${STEP}u < params.inner {
                ${fetch("k + " ~ STEP ~ "u")}
            }
            ${multiply(here, range(LATE, STEP))}
            if !more {
                break;
            }
            workgroupBarrier();
            k += ${STEP}u;
        }
        //% endfor
    }
    //% for q in range(EACH_COLUMNS // 4)
    {
        let column = first_column + 4u * (my_column + ${q * ACROSS}u);
        let shift = vec4<${VALUE}>(
            //% for j in range(4)
            column_bias(at, column + ${j}u),
            //% endfor
        );
        //% for i in range(EACH_ROWS)
        {
            let row = first_row + 4u * (my_row + ${i // 4 * DOWN}u) + ${i % 4}u;
            write_quad(at, row, column, ${outer.quad(i, q, VALUE)}, shift);
        }
        //% endfor
    }
    //% endfor
}
