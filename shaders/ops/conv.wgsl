// Convolution as a matrix product whose right-hand side, the windows of x, is never written out. A workgroup makes a
// tile of ROWS channels x COLUMNS positions of one group; positions count through the batch. It goes along the inner
// axis (the taps of a window, in each all channels) in steps of STEP, with both operands' part in workgroup memory;
// each invocation makes EACH_ROW x EACH_COLUMN results (written out by the template: an array indexed at run time would
// be in slow memory).
// In: X, W, OUT, BIAS, RESIDUAL, dtypes ("" for what is not there); VALUE, the WGSL type summed in; ROWS, COLUMNS,
//     EACH_ROW, EACH_COLUMN, STEP; UNROLL, how many positions of the inner axis are written out in a row; WHOLE,
//     whether a step never straddles two taps; W_COLUMN_MAJOR, whether weights of neighboring output channels are closer
//     together than those of neighboring input channels; ACTIVATION, an expression over x.
// Out: out = activation(convolution + bias + residual); of each slice of the inner axis, if there are several.
//% import "common/element.wgsl" as element
//% import "common/outer.wgsl" as outer
//% include "common/conv.wgsl"
//% include "common/conv_tile.wgsl"
//% set THREADS = (ROWS // EACH_ROW) * (COLUMNS // EACH_COLUMN)
//% set ACROSS = COLUMNS // EACH_COLUMN
//% set QUADS = EACH_COLUMN // 4
//% set W_LINE = ROWS // 4 + 1
//% set X_LINE = COLUMNS // 4
//% set W_LOADS = STEP * ROWS // THREADS
//% set X_LOADS = STEP * COLUMNS // THREADS
//% set X_JUMP = THREADS // COLUMNS

var<workgroup> tile_w: array<vec4<${VALUE}>, ${SPLIT * STEP * W_LINE}>;
var<workgroup> tile_x: array<vec4<${VALUE}>, ${SPLIT * STEP * X_LINE}>;
//% if not WHOLE
const NOWHERE = -0x40000000;
// Of each inner index of the step: its offset in x and in w, and how far it is from the window's origin.
var<workgroup> inner_x: array<i32, ${SPLIT * STEP}>;
var<workgroup> inner_w: array<i32, ${SPLIT * STEP}>;
var<workgroup> inner_at: array<vec3i, ${SPLIT * STEP}>;
//% endif

//% if not WHOLE
fn describe(lane: u32, k: i32) {
    if lane < ${SPLIT * STEP}u {
        let inner = k + i32(lane);
        let tap = inner / params.channels;
        let channel = inner - tap * params.channels;
        let line = tap / params.window.z;
        let at = vec3i(line / params.window.y, line % params.window.y, tap % params.window.z);
        let shift = at * params.spread;
        let is_there = at.x < params.window.x;
        inner_at[lane] = select(vec3i(NOWHERE), shift, is_there);
        inner_x[lane] = channel * params.x_strides[0].z + dot(shift, params.x_strides[1].xyz);
        inner_w[lane] = channel * params.w_strides[0].z + dot(at, params.w_strides[1].xyz);
    }
}
//% endif

@compute @workgroup_size(${SPLIT * THREADS})
fn main(
    @builtin(workgroup_id) group_id: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(local_invocation_index) invocation: u32,
) {
    let lane = invocation % ${THREADS}u;
    let part_first = invocation / ${THREADS}u * ${STEP}u;  // of the inner indices that are in workgroup memory
    let tile = tile_of(group_id.y * num_workgroups.x + group_id.x, params.all_positions);
    if tile.group >= params.groups {
        return;
    }

    // the position whose elements of x this invocation loads
    let x_column = lane % ${COLUMNS}u;
    let x_first = lane / ${COLUMNS}u;
    let position = min(tile.column + x_column, params.all_positions - 1u);
    let start = unraveled(position % params.positions) * params.step + params.origin;
    let x_base = i32(params.x_offset) + i32(position / params.positions) * params.x_strides[0].x
        + i32(tile.group) * params.x_strides[0].y + dot(start, params.x_strides[1].xyz);
    let w_base = i32(params.w_offset) + i32(tile.group) * params.w_strides[0].x;

    ${outer.declare(EACH_ROW, QUADS, VALUE)}
    let my_row = lane / ${ACROSS}u;
    let my_column = lane % ${ACROSS}u;
    let inner = params.channels * params.window.x * params.window.y * params.window.z;
    let first = i32(tile.slice) * params.slice_steps * ${SPLIT * STEP};
    let end = min(first + params.slice_steps * ${SPLIT * STEP}, inner);
    //% if WHOLE
    let own = first + i32(part_first);
    let first_tap = own / params.channels;
    let first_line = first_tap / params.window.z;
    var tap = vec3i(first_line / params.window.y, first_line % params.window.y, first_tap % params.window.z);
    var channel = own - first_tap * params.channels;
    var is_there = tap.x < params.window.x;
    var is_image = is_there && is_inside(start + tap * params.spread);
    var x_tap = x_base + dot(tap * params.spread, params.x_strides[1].xyz);
    var w_tap = w_base + dot(tap, params.w_strides[1].xyz);
    //% else
    describe(invocation, first);
    workgroupBarrier();
    //% endif
    //% macro load()
    //% for load in range(W_LOADS)
    {
        let e = lane + ${load * THREADS}u;
        let kk = ${"e / " ~ ROWS ~ "u" if W_COLUMN_MAJOR else "e % " ~ STEP ~ "u"};
        let row = tile.row + ${"e % " ~ ROWS ~ "u" if W_COLUMN_MAJOR else "e / " ~ STEP ~ "u"};
        //% if WHOLE
        let at = w_tap + (channel + i32(kk)) * params.w_strides[0].z + i32(row) * params.w_strides[0].y;
        let is_known = row < params.results && is_there;
        //% else
        let at = w_base + inner_w[part_first + kk] + i32(row) * params.w_strides[0].y;
        let is_known = row < params.results && inner_at[part_first + kk].x != NOWHERE;
        //% endif
        next_w${load} = ${VALUE}(0);
        if is_known {
            next_w${load} = ${VALUE}(${element.load("w", W, "u32(at)")});
        }
    }
    //% endfor
    //% for load in range(X_LOADS)
    {
        let kk = x_first + ${load * X_JUMP}u;
        //% if WHOLE
        let is_known = is_image;
        let at = x_tap + (channel + i32(kk)) * params.x_strides[0].z;
        //% else
        let is_known = is_inside(start + inner_at[part_first + kk]);
        let at = x_base + inner_x[part_first + kk];
        //% endif
        next_x${load} = ${VALUE}(0);
        if is_known {
            next_x${load} = ${VALUE}(${element.load("x", X, "u32(at)")});
        }
    }
    //% endfor
    //%- endmacro
    // What the next step takes is loaded before the products of this one, so that they hide the wait for it.
    //% for load in range(W_LOADS)
    var next_w${load}: ${VALUE};
    //% endfor
    //% for load in range(X_LOADS)
    var next_x${load}: ${VALUE};
    //% endfor
    ${load()}
    //% if not WHOLE
    workgroupBarrier();  // the description is read until here
    //% endif
    for (var k = first; k < end; k += ${SPLIT * STEP}) {
        //% for load in range(W_LOADS)
        {
            let e = lane + ${load * THREADS}u;
            let kk = ${"e / " ~ ROWS ~ "u" if W_COLUMN_MAJOR else "e % " ~ STEP ~ "u"};
            let row = ${"e % " ~ ROWS ~ "u" if W_COLUMN_MAJOR else "e / " ~ STEP ~ "u"};
            tile_w[(part_first + kk) * ${W_LINE}u + row / 4u][row % 4u] = next_w${load};
        }
        //% endfor
        //% for load in range(X_LOADS)
        tile_x[(part_first + x_first + ${load * X_JUMP}u) * ${X_LINE}u + x_column / 4u][x_column % 4u] = next_x${load};
        //% endfor
        //% if WHOLE
        channel += ${SPLIT * STEP};
        if channel >= params.channels {
            while channel >= params.channels {
                channel -= params.channels;
                tap.z += 1;
                if tap.z == params.window.z {
                    tap.z = 0;
                    tap.y += 1;
                    if tap.y == params.window.y {
                        tap.y = 0;
                        tap.x += 1;
                    }
                }
            }
            is_there = tap.x < params.window.x;
            is_image = is_there && is_inside(start + tap * params.spread);
            x_tap = x_base + dot(tap * params.spread, params.x_strides[1].xyz);
            w_tap = w_base + dot(tap, params.w_strides[1].xyz);
        }
        //% else
        describe(invocation, k + ${SPLIT * STEP});
        //% endif
        workgroupBarrier();
        if k + ${SPLIT * STEP} < end {
            ${load()}
        }
        for (var kk = 0u; kk < ${STEP}u; kk += ${UNROLL}u) {
        //% for step in range(UNROLL)
        {
            //% for i in range(EACH_ROW // 4)
            let w${i} = tile_w[(part_first + kk + ${step}u) * ${W_LINE}u + my_row * ${EACH_ROW // 4}u + ${i}u];
            //% endfor
            //% for j in range(QUADS)
            let x${j} = tile_x[(part_first + kk + ${step}u) * ${X_LINE}u + my_column + ${j * ACROSS}u];
            //% endfor
            ${outer.accumulate(EACH_ROW, QUADS, VALUE, left="w", right="x")}
        }
        //% endfor
        }
        workgroupBarrier();
    }
    //% if SPLIT > 1
    // the parts' sums are added up by the first, in turn
    for (var part = 1u; part < ${SPLIT}u; part += 1u) {
        if part_first == part * ${STEP}u {
            //% for i in range(EACH_ROW)
            //% for j in range(QUADS)
            tile_x[${(i * QUADS + j) * THREADS}u + lane] = ${outer.quad(i, j, VALUE)};
            //% endfor
            //% endfor
        }
        workgroupBarrier();
        if part_first == 0u {
            //% for i in range(EACH_ROW)
            //% for j in range(QUADS)
            {
                let others = tile_x[${(i * QUADS + j) * THREADS}u + lane];
                //% for c in range(4)
                sum${i}_${j}_${c} += others[${c}];
                //% endfor
            }
            //% endfor
            //% endfor
        }
        workgroupBarrier();
    }
    if part_first != 0u {
        return;
    }
    //% endif
    //% for j in range(QUADS)
    //% for part in range(4)
    {
        let column = tile.column + my_column * 4u + ${j * ACROSS * 4 + part}u;
        if column < params.all_positions {
            let member = column / params.positions;
            let at = unraveled(column % params.positions);
            //% for i in range(EACH_ROW)
            {
                let row = i32(tile.row + my_row * ${EACH_ROW}u + ${i}u);
                if row < i32(params.results) {
                    let shift = i32(tile.slice) * params.slice_stride;
                    write_result(sum${i}_${j}_${part}, shift, member, tile.group, row, at);
                }
            }
            //% endfor
        }
    }
    //% endfor
    //% endfor
}
