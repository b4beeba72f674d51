// Macros of ops/mlp_backward.wgsl for the gradients of weights and biases: added up in registers, written in the end.
// In: what ops/mlp_backward.wgsl takes and computes from it; `lane` is known.

// Adds to `name` from index `at` on what a layer's weights get: the products of its lines, over all points of the tile.
//% macro weigh(name, at, ins, outs, rows, chunks)
//% set tiles = ins // rows * (outs // 4)
//% set part = POINT_QUADS // chunks
//% set items = tiles * chunks
//% for turn in range((items + THREADS - 1) // THREADS)
//% if items < (turn + 1) * THREADS
if lane + ${turn * THREADS}u < ${items}u {
//% else
{
//% endif
    let item = lane + ${turn * THREADS}u;
    let row = item % ${tiles}u % ${ins // rows}u;
    let column = item % ${tiles}u / ${ins // rows}u;
    let begin = item / ${tiles}u * ${part}u;
    //% for n in range(rows)
    //% for m in range(4)
    var w${n}_${m} = 0.0;
    //% endfor
    //% endfor
    for (var q = begin; q < begin + ${part}u; q += 1u) {
        //% for n in range(rows)
        let a${n} = inputs[(row + ${n * (ins // rows)}u) * ${LINE}u + q];
        //% endfor
        //% for m in range(4)
        let g${m} = gradient_tile[(column + ${m * (outs // 4)}u) * ${LINE}u + q];
        //% endfor
        //% for j in range(4)
        //% for m in range(4)
        //% for n in range(rows)
        w${n}_${m} = fma(a${n}[${j}], g${m}[${j}], w${n}_${m});
        //% endfor
        //% endfor
        //% endfor
    }
    //% for n in range(rows)
    ${name}[${at} + ${turn * rows + n}u] += vec4f(w${n}_0, w${n}_1, w${n}_2, w${n}_3);
    //% endfor
}
//% endfor
//%- endmacro

// The same for biases: the gradients of each line, over all points of the tile.
//% macro weigh_biases(name, at, outs, chunks)
//% set part = POINT_QUADS // chunks
//% for turn in range((outs * chunks + THREADS - 1) // THREADS)
//% if outs * chunks < (turn + 1) * THREADS
if lane + ${turn * THREADS}u < ${outs * chunks}u {
//% else
{
//% endif
    let item = lane + ${turn * THREADS}u;
    let begin = item % ${outs}u * ${LINE}u + item / ${outs}u * ${part}u;
    var total = vec4f();
    for (var q = begin; q < begin + ${part}u; q += 1u) {
        total += gradient_tile[q];
    }
    ${name}[${at} + ${turn}u] += (total.x + total.y) + (total.z + total.w);
}
//% endfor
//%- endmacro

// What was added up in the end, to `partial` from index `at` on.
//% macro write(name, begin, at, items, rows)
//% for turn in range((items + THREADS - 1) // THREADS)
if lane + ${turn * THREADS}u < ${items}u {
    let first = ${at} + (lane + ${turn * THREADS}u) * ${4 * rows}u;
    //% for n in range(rows)
    //% for m in range(4)
    partial[first + ${4 * n + m}u] = ${name}[${begin} + ${turn * rows + n}u][${m}];
    //% endfor
    //% endfor
}
//% endfor
//%- endmacro

//% macro write_biases(name, begin, at, items)
//% for turn in range((items + THREADS - 1) // THREADS)
if lane + ${turn * THREADS}u < ${items}u {
    partial[${at} + lane + ${turn * THREADS}u] = ${name}[${begin} + ${turn}u];
}
//% endfor
//%- endmacro
