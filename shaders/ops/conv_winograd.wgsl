// Convolution with a window of 3 x 3 and stride 1 from fewer multiplications (Lavin and Gray, "Fast algorithms for
// convolutional neural networks", 2016, F(2 x 2, 3 x 3)): a patch of 4 x 4 elements of x and a window become 16 values
// each, whose products, added up over all channels, become 2 x 2 results. A workgroup makes ROWS channels x COLUMNS
// patches of one group, as 16 matrix products, STEP channels at a time; each invocation makes 8 x EACH_COLUMN sums of one
// of the products. Patches count through the batch.
// In: X, W, OUT, BIAS, RESIDUAL, VALUE, ACTIVATION as in ops/conv.wgsl; ROWS, COLUMNS, EACH_COLUMN, STEP.
// Out: out = activation(convolution + bias + residual); of each slice of the channels, if there are several.
//% import "common/element.wgsl" as element
//% import "common/outer.wgsl" as outer
//% include "common/conv.wgsl"
//% include "common/conv_tile.wgsl"
//% set DOWN = ROWS // 8
//% set ACROSS = COLUMNS // EACH_COLUMN
//% set OF_PRODUCT = DOWN * ACROSS
//% set THREADS = 16 * OF_PRODUCT
//% set ROW_QUADS = ROWS // 4
//% set COLUMN_QUADS = COLUMNS // 4
//% set PATCHES = 16 * STEP * ROW_QUADS
//% set ROUND = 16 // EACH_COLUMN

// Values of windows (channel, product, row), from PATCHES on those of patches (channel, product, column); in the end the
// sums of ROUND rows of each invocation (product, row, column).
var<workgroup> memory: array<vec4f, ${[PATCHES + 16 * STEP * COLUMN_QUADS, 16 * ROUND * DOWN * COLUMN_QUADS] | max}>;

// Lines of eight quads change halves from one product to the next: two products are read from different banks.
//% macro turned(quad, product, quads)
${"((" ~ quad ~ ") ^ (" ~ product ~ " % 2u * 4u))" if quads == 8 else quad}
//%- endmacro

//% macro put(first, quads, item)
//% for product in range(16)
memory[${first}u + (channel * 16u + ${product}u) * ${quads}u + ${turned(item ~ " / 4u", product ~ "u", quads)}][${item} % 4u] = u${product // 4}[${product % 4}];
//% endfor
//%- endmacro

@compute @workgroup_size(${THREADS})
fn main(
    @builtin(workgroup_id) group_id: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let patches = (params.outs.yz + 1u) / 2u;
    let of_member = patches.x * patches.y;
    let all_patches = params.all_positions / params.positions * of_member;
    let tile = tile_of(group_id.y * num_workgroups.x + group_id.x, all_patches);
    if tile.group >= params.groups {
        return;
    }

    // the window or the patch that this invocation loads and transforms, of each channel % STEP == `channel`
    let first = i32(tile.slice) * params.slice_steps * ${STEP};
    let end = min(first + params.slice_steps * ${STEP}, params.channels);
    let loads_window = lane < ${STEP * ROWS}u;
    let item = select((lane - ${STEP * ROWS}u) % ${COLUMNS}u, lane % ${ROWS}u, loads_window);
    let channel = select((lane - ${STEP * ROWS}u) / ${COLUMNS}u, lane / ${ROWS}u, loads_window);
    var at = 0;
    var inside = 0u;  // a bit for each element of the patch
    if loads_window {
        let row = tile.row + item;
        inside = select(0u, 1u, row < params.results);
        at = i32(params.w_offset) + i32(tile.group) * params.w_strides[0].x + i32(row) * params.w_strides[0].y
            + (first + i32(channel)) * params.w_strides[0].z;
    } else if channel < ${STEP}u && tile.column + item < all_patches {
        let patch_ = tile.column + item;
        let within = patch_ % of_member;
        let corner = vec2i(vec2u(within / patches.y, within % patches.y) * 2u) + params.origin.yz;
        at = i32(params.x_offset) + i32(patch_ / of_member) * params.x_strides[0].x
            + i32(tile.group) * params.x_strides[0].y + (first + i32(channel)) * params.x_strides[0].z
            + dot(corner, params.x_strides[1].yz);
        //% for i in range(4)
        //% for j in range(4)
        inside |= select(0u, ${2 ** (4 * i + j)}u, is_inside(vec3i(0, corner + vec2i(${i}, ${j}))));
        //% endfor
        //% endfor
    }
    let leap = ${STEP} * select(params.x_strides[0].z, params.w_strides[0].z, loads_window);
    //% for i in range(4)
    var next${i} = vec4f();
    //% endfor

    //% macro load(k)
    //% for i in range(4)
    next${i} = vec4f();
    //% endfor
    if ${k} + i32(channel) < end && inside != 0u {
        if loads_window {
            //% for i in range(3)
            //% for j in range(3)
            {
                let tap_at = at + ${i} * params.w_strides[1].y + ${j} * params.w_strides[1].z;
                next${i}[${j}] = f32(${element.load("w", W, "u32(tap_at)")});
            }
            //% endfor
            //% endfor
        } else {
            //% for i in range(4)
            //% for j in range(4)
            if (inside & ${2 ** (4 * i + j)}u) != 0u {
                let element_at = at + ${i} * params.x_strides[1].y + ${j} * params.x_strides[1].z;
                next${i}[${j}] = f32(${element.load("x", X, "u32(element_at)")});
            }
            //% endfor
            //% endfor
        }
    }
    at += leap;
    //%- endmacro

    let product = lane / ${OF_PRODUCT}u;
    let my_row = lane % ${OF_PRODUCT}u / ${ACROSS}u;
    let my_column = lane % ${ACROSS}u;
    //% for n in range(2)
    let w_at${n} = product * ${ROW_QUADS}u + ${turned("(my_row + " ~ n * DOWN ~ "u)", "product", ROW_QUADS)};
    //% endfor
    //% for q in range(EACH_COLUMN // 4)
    let x_at${q} = ${PATCHES}u + product * ${COLUMN_QUADS}u + ${turned("(my_column + " ~ q * ACROSS ~ "u)", "product", COLUMN_QUADS)};
    //% endfor
    ${outer.declare(8, EACH_COLUMN // 4, "f32")}
    ${load("first")}
    for (var k = first; k < end; k += ${STEP}) {
        if loads_window {
            let t0 = next0;
            let t1 = 0.5 * (next0 + next1 + next2);
            let t2 = 0.5 * (next0 - next1 + next2);
            let t3 = next2;
            //% for i in range(4)
            let u${i} = vec4f(t${i}.x, 0.5 * (t${i}.x + t${i}.y + t${i}.z), 0.5 * (t${i}.x - t${i}.y + t${i}.z), t${i}.z);
            //% endfor
            ${put(0, ROW_QUADS, "item")}
        } else if channel < ${STEP}u {
            let t0 = next0 - next2;
            let t1 = next1 + next2;
            let t2 = next2 - next1;
            let t3 = next1 - next3;
            //% for i in range(4)
            let u${i} = vec4f(t${i}.x - t${i}.z, t${i}.y + t${i}.z, t${i}.z - t${i}.y, t${i}.y - t${i}.w);
            //% endfor
            ${put(PATCHES, COLUMN_QUADS, "item")}
        }
        workgroupBarrier();
        if k + ${STEP} < end {
            ${load("k + " ~ STEP)}
        }
        //% for step in range(STEP)
        {
            //% for n in range(2)
            let left${n} = memory[w_at${n} + ${16 * step * ROW_QUADS}u];
            //% endfor
            //% for q in range(EACH_COLUMN // 4)
            let right${q} = memory[x_at${q} + ${16 * step * COLUMN_QUADS}u];
            //% endfor
            ${outer.accumulate(8, EACH_COLUMN // 4, "f32")}
        }
        //% endfor
        workgroupBarrier();
    }

    // ROUND rows of each invocation at a time: the 16 sums of a patch are put together, and become 2 x 2 results
    let column = lane % ${COLUMNS}u;
    let line = lane / ${COLUMNS}u;
    let patch_ = tile.column + column;
    let within = patch_ % of_member;
    let corner = vec2u(within / patches.y, within % patches.y) * 2u;
    //% for round in range(8 // ROUND)
    //% for i in range(ROUND)
    //% for q in range(EACH_COLUMN // 4)
    memory[(product * ${ROUND * DOWN}u + my_row * ${ROUND}u + ${i}u) * ${COLUMN_QUADS}u + my_column + ${q * ACROSS}u] = ${outer.quad(round * ROUND + i, q, "f32")};
    //% endfor
    //% endfor
    workgroupBarrier();
    {
        //% for i in range(4)
        let m${i} = vec4f(
            //% for j in range(4)
            memory[(${4 * i + j}u * ${ROUND * DOWN}u + line) * ${COLUMN_QUADS}u + column / 4u][column % 4u],
            //% endfor
        );
        //% endfor
        let upper = m0 + m1 + m2;
        let lower = m1 - m2 - m3;
        let i = ${round * ROUND}u + line % ${ROUND}u;
        let row = tile.row + 4u * (line / ${ROUND}u + i / 4u * ${DOWN}u) + i % 4u;
        if row < params.results && patch_ < all_patches {
            let shift = i32(tile.slice) * params.slice_stride;
            let member = patch_ / of_member;
            //% for name, y in (("upper", 0), ("lower", 1))
            //% for x in (0, 1)
            if corner.x + ${y}u < params.outs.y && corner.y + ${x}u < params.outs.z {
                let sum = ${name ~ ".x + " ~ name ~ ".y + " ~ name ~ ".z" if x == 0 else name ~ ".y - " ~ name ~ ".z - " ~ name ~ ".w"};
                write_result(sum, shift, member, tile.group, i32(row), vec3i(0, vec2i(corner) + vec2i(${y}, ${x})));
            }
            //% endfor
            //% endfor
        }
    }
    workgroupBarrier();
    //% endfor
}
