// Attention that never writes out the scores: out = softmax(cap(scale q k^T) + mask) v, tile by tile of keys, with the
// running maximum and sum of each row (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018; Dao
// et al., "FlashAttention", 2022). A workgroup of GROUPS x LANES invocations makes GROUPS x 8 rows of one head. Each
// works on 8 rows: on KEYS / LANES keys of the scores, and on WIDTH_OUT / LANES columns of the result. k and v pass
// through workgroup memory in parts.
// In: Q, K, V, OUT, MASK, dtypes (MASK "" for none, "bool" for what may be attended, else added); LENGTHS, whether each
//     member of the batch has a number of keys of its own; WIDTH, WIDTH_OUT, head sizes, filled up; KEYS, keys of a
//     tile; LANES, GROUPS; PART, elements of k or v in workgroup memory; GAP, quads left unused after a line of it;
//     UNROLL, steps written out in a row; WIDE, whether k and v are read four elements at a time; CAPPED, whether
//     scores are held by a tanh.
// Out: out (batch, heads, queries, width_out); 0 for a row that may attend nothing.
//% import "common/element.wgsl" as element
//% if "f16" in (Q, K, V, OUT, MASK)
enable f16;
//% endif
//% if CAPPED
//% include "common/math.wgsl"
//% include "common/activation.wgsl"
//% endif
//% set THREADS = GROUPS * LANES
//% set ROWS = GROUPS * 8
//% set Q_LINE = ROWS // 4 + GAP
//% set K_LINE = KEYS // 4 + GAP
//% set V_LINE = WIDTH_OUT // 4
//% set P_LINE = ROWS // 4 + GAP
//% set SLICE = PART // KEYS
//% set LONG = PART // WIDTH_OUT
//% set LOADS = PART // 4 // THREADS
//% set S_QUADS = KEYS // LANES // 4
//% set O_QUADS = WIDTH_OUT // LANES // 4

//% include "common/attention_params.wgsl"

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> q: ${element.storage(Q)};
@group(0) @binding(2) var<storage, read> k: ${"array<vec4<" ~ K ~ ">>" if WIDE else element.storage(K)};
@group(0) @binding(3) var<storage, read> v: ${"array<vec4<" ~ V ~ ">>" if WIDE else element.storage(V)};
@group(0) @binding(4) var<storage, read_write> out: ${element.storage(OUT)};
//% if MASK
@group(0) @binding(5) var<storage, read> mask: ${element.storage(MASK)};
//% endif
//% if LENGTHS
@group(0) @binding(6) var<storage, read> lengths: array<i32>;
//% endif

const MASKED = -1.0e30;  // less than any score, but finite, so that differences of two such are numbers

// Quads of rows, for each component of the head (tile_q) or for each key (tile_p); quads of keys for each component of the
// head, or quads of columns of each key (part).
var<workgroup> tile_q: array<vec4f, ${WIDTH * Q_LINE}>;
var<workgroup> tile_p: array<vec4f, ${KEYS * P_LINE}>;
var<workgroup> part: array<vec4f, ${[SLICE * K_LINE, LONG * V_LINE] | max}>;
var<workgroup> joint: array<f32, ${ROWS * (LANES + 1)}>;
var<workgroup> row_top: array<f32, ${ROWS}>;
var<workgroup> row_factor: array<f32, ${ROWS}>;

//% set QUADS_OF = (("k", K, "width"), ("v", V, "width_out"))
//% include "common/attention_quads.wgsl"
@compute @workgroup_size(${THREADS})
fn main(
    @builtin(workgroup_id) group_id: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = group_id.y * num_workgroups.x + group_id.x;
    let blocks = (params.queries + ${ROWS - 1}u) / ${ROWS}u;
    let head = number / blocks % params.heads;
    let member = number / blocks / params.heads;
    if member >= params.members {
        return;
    }
    // the last rows first: under a causal mask they have most to do
    let first_row = (blocks - 1u - number % blocks) * ${ROWS}u;
    let group = lane / ${LANES}u;
    let column = lane % ${LANES}u;
    let at = vec2i(i32(member), i32(head));
    let shared_at = vec2i(i32(member), i32(head / params.group_size));
    let q_base = i32(params.q_offset) + dot(at, params.q_strides.xy);
    let k_base = i32(params.k_offset) + dot(shared_at, params.k_strides.xy);
    let v_base = i32(params.v_offset) + dot(shared_at, params.v_strides.xy);

    for (var e = lane; e < ${ROWS * WIDTH}u; e += ${THREADS}u) {
        let d = e % ${WIDTH}u;
        let row = e / ${WIDTH}u;
        var value = 0.0;
        if d < params.width && first_row + row < params.queries {
            let q_at = u32(q_base + i32(first_row + row) * params.q_strides.z + i32(d) * params.q_strides.w);
            value = f32(${element.load("q", Q, "q_at")});
        }
        tile_q[d * ${Q_LINE}u + row / 4u][row % 4u] = value * params.scale;
    }
    if lane < ${ROWS}u {
        row_top[lane] = MASKED;
    }

    var keys = i32(params.keys);
    var offset = params.offset;
    //% if LENGTHS
    keys = clamp(lengths[params.lengths_offset + member * u32(params.lengths_strides)], 0, keys);
    if params.by_length != 0u {
        offset = keys - i32(params.queries);
    }
    //% endif
    // keys that any row of this workgroup may attend
    let last_row = min(first_row + ${ROWS - 1}u, params.queries - 1u);
    var end = keys;
    if params.right >= 0 {
        end = min(end, i32(last_row) + offset + params.right + 1);
    }
    var start = 0;
    if params.left >= 0 {
        start = max(0, i32(first_row) + offset - params.left) / ${KEYS} * ${KEYS};
    }

    //% for i in range(8)
    var sum${i} = 0.0;
    //% for j in range(O_QUADS)
    var o${i}_${j} = vec4f();
    //% endfor
    //% endfor
    // The part that comes next is loaded before the products with this one, so that they hide the wait for it.
    //% for load in range(LOADS)
    var next${load} = vec4f();
    //% endfor
    //% macro load_k(key, d)
    //% for load in range(LOADS)
    next${load} = k_quad(k_base, (${key}) + i32((lane + ${load * THREADS}u) / ${SLICE // 4}u), keys, (${d}) + (lane + ${load * THREADS}u) % ${SLICE // 4}u * 4u);
    //% endfor
    //%- endmacro
    //% macro load_v(row)
    //% for load in range(LOADS)
    next${load} = v_quad(v_base, (${row}) + i32((lane + ${load * THREADS}u) / ${WIDTH_OUT // 4}u), keys, (lane + ${load * THREADS}u) % ${WIDTH_OUT // 4}u * 4u);
    //% endfor
    //%- endmacro
    ${load_k("start", "0u")}
    for (var key = start; key < end; key += ${KEYS}) {
        //% for i in range(8)
        //% for j in range(S_QUADS)
        var s${i}_${j} = vec4f();
        //% endfor
        //% endfor
        for (var d = 0u; d < ${WIDTH}u; d += ${SLICE}u) {
            workgroupBarrier();
            //% for load in range(LOADS)
            {
                let step = (lane + ${load * THREADS}u) % ${SLICE // 4}u * 4u;
                let row = (lane + ${load * THREADS}u) / ${SLICE // 4}u;
                //% for c in range(4)
                part[(step + ${c}u) * ${K_LINE}u + row / 4u][row % 4u] = next${load}[${c}];
                //% endfor
            }
            //% endfor
            workgroupBarrier();
            if d + ${SLICE}u < ${WIDTH}u {
                ${load_k("key", "d + " ~ SLICE ~ "u")}
            } else {
                ${load_v("key")}
            }
            for (var first = 0u; first < ${SLICE}u; first += ${[UNROLL, SLICE] | min}u) {
                //% for step in range([UNROLL, SLICE] | min)
                {
                    let q_at = (d + first + ${step}u) * ${Q_LINE}u + group * 2u;
                    let q0 = tile_q[q_at];
                    let q1 = tile_q[q_at + 1u];
                    //% for j in range(S_QUADS)
                    let k${j} = part[(first + ${step}u) * ${K_LINE}u + ${j * LANES}u + column];
                    //% for i in range(8)
                    s${i}_${j} = fma(vec4f(q${i // 4}[${i % 4}]), k${j}, s${i}_${j});
                    //% endfor
                    //% endfor
                }
                //% endfor
            }
        }
        //% if CAPPED
        //% for i in range(8)
        //% for j in range(S_QUADS)
        //% for c in range(4)
        s${i}_${j}[${c}] = params.cap * tanh_(s${i}_${j}[${c}] / params.cap);
        //% endfor
        //% endfor
        //% endfor
        //% endif
        // what may not be attended; most tiles are wholly inside of what may
        let is_cut = key + ${KEYS} > keys
            || (params.right >= 0 && key + ${KEYS - 1} > i32(first_row) + offset + params.right)
            || (params.left >= 0 && key < i32(last_row) + offset - params.left);
        if ${"true" if MASK else "is_cut"} {
        //% for i in range(8)
        {
            let row = i32(first_row + group * 8u + ${i}u);
            let position = row + offset;
            let low = select(0, position - params.left, params.left >= 0);
            let high = select(keys - 1, min(keys - 1, position + params.right), params.right >= 0);
            //% for j in range(S_QUADS)
            let key${j} = vec4i(key + i32(column) * 4 + ${j * LANES * 4}) + vec4i(0, 1, 2, 3);
            //% if MASK
            if row < i32(params.queries) {
                let mask_at = i32(params.mask_offset) + dot(at, params.mask_strides.xy) + row * params.mask_strides.z;
                //% for c in range(4)
                if key${j}[${c}] <= high {
                    let value = ${element.load("mask", MASK, "u32(mask_at + key" ~ j ~ "[" ~ c ~ "] * params.mask_strides.w)")};
                    //% if MASK == "bool"
                    s${i}_${j}[${c}] = select(MASKED, s${i}_${j}[${c}], value);
                    //% else
                    s${i}_${j}[${c}] += f32(value);
                    //% endif
                }
                //% endfor
            }
            //% endif
            let is_open${j} = (key${j} >= vec4i(low)) & (key${j} <= vec4i(high));
            s${i}_${j} = select(vec4f(MASKED), s${i}_${j}, is_open${j});
            //% endfor
        }
        //% endfor
        }
        //% for i in range(8)
        {
            var top = ${"max(max(s" ~ i ~ "_0.x, s" ~ i ~ "_0.y), max(s" ~ i ~ "_0.z, s" ~ i ~ "_0.w))"};
            //% for j in range(1, S_QUADS)
            top = max(top, max(max(s${i}_${j}.x, s${i}_${j}.y), max(s${i}_${j}.z, s${i}_${j}.w)));
            //% endfor
            joint[(group * 8u + ${i}u) * ${LANES + 1}u + column] = top;
        }
        //% endfor
        workgroupBarrier();
        if lane < ${ROWS}u {
            let old = row_top[lane];
            var top = old;
            for (var i = 0u; i < ${LANES}u; i += 1u) {
                top = max(top, joint[lane * ${LANES + 1}u + i]);
            }
            row_top[lane] = top;
            row_factor[lane] = exp2((old - top) * 1.44269504);
        }
        workgroupBarrier();
        //% for i in range(8)
        {
            let top = row_top[group * 8u + ${i}u];
            let factor = row_factor[group * 8u + ${i}u];
            sum${i} *= factor;
            //% for j in range(O_QUADS)
            o${i}_${j} *= factor;
            //% endfor
            //% for j in range(S_QUADS)
            let weight${j} = exp2((s${i}_${j} - top) * 1.44269504);
            s${i}_${j} = select(weight${j}, vec4f(), s${i}_${j} <= vec4f(0.5 * MASKED));
            sum${i} += dot(s${i}_${j}, vec4f(1.0));
            //% endfor
        }
        //% endfor
        //% for j in range(S_QUADS)
        //% for c in range(4)
        {
            let p_at = (column * 4u + ${j * LANES * 4 + c}u) * ${P_LINE}u + group * 2u;
            tile_p[p_at] = vec4f(s0_${j}[${c}], s1_${j}[${c}], s2_${j}[${c}], s3_${j}[${c}]);
            tile_p[p_at + 1u] = vec4f(s4_${j}[${c}], s5_${j}[${c}], s6_${j}[${c}], s7_${j}[${c}]);
        }
        //% endfor
        //% endfor
        for (var inner = 0u; inner < ${KEYS}u; inner += ${LONG}u) {
            workgroupBarrier();
            //% for load in range(LOADS)
            part[lane + ${load * THREADS}u] = next${load};
            //% endfor
            workgroupBarrier();
            if inner + ${LONG}u < ${KEYS}u {
                ${load_v("key + i32(inner + " ~ LONG ~ "u)")}
            } else {
                ${load_k("key + " ~ KEYS, "0u")}
            }
            for (var first = 0u; first < ${LONG}u; first += ${[UNROLL, LONG] | min}u) {
                //% for step in range([UNROLL, LONG] | min)
                {
                    let p_at = (inner + first + ${step}u) * ${P_LINE}u + group * 2u;
                    let p0 = tile_p[p_at];
                    let p1 = tile_p[p_at + 1u];
                    //% for j in range(O_QUADS)
                    let v${j} = part[(first + ${step}u) * ${V_LINE}u + ${j * LANES}u + column];
                    //% for i in range(8)
                    o${i}_${j} = fma(vec4f(p${i // 4}[${i % 4}]), v${j}, o${i}_${j});
                    //% endfor
                    //% endfor
                }
                //% endfor
            }
        }
    }
    workgroupBarrier();
    //% for i in range(8)
    joint[(group * 8u + ${i}u) * ${LANES + 1}u + column] = sum${i};
    //% endfor
    workgroupBarrier();
    if lane < ${ROWS}u {
        var sum = 0.0;
        for (var i = 0u; i < ${LANES}u; i += 1u) {
            sum += joint[lane * ${LANES + 1}u + i];
        }
        row_factor[lane] = select(1.0 / sum, 0.0, sum == 0.0);
    }
    workgroupBarrier();
    let out_base = i32(params.out_offset) + dot(at, params.out_strides.xy);
    //% for i in range(8)
    {
        let row = first_row + group * 8u + ${i}u;
        let factor = row_factor[group * 8u + ${i}u];
        if row < params.queries {
            let line = out_base + i32(row) * params.out_strides.z;
            //% for j in range(O_QUADS)
            //% for c in range(4)
            if column * 4u + ${j * LANES * 4 + c}u < params.width_out {
                out[u32(line + i32(column * 4u + ${j * LANES * 4 + c}u) * params.out_strides.w)] = ${OUT}(o${i}_${j}[${c}] * factor);
            }
            //% endfor
            //% endfor
        }
    }
    //% endfor
}
