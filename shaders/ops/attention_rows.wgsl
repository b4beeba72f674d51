// Attention as in ops/attention.wgsl, for many queries with heads of at most 64: four invocations of a subgroup have four
// rows together, all in registers, each a quarter of every row's components. A score is the sum of four parts, which
// subgroup operations add up; only k and v pass through workgroup memory, a tile of KEYS at a time in two buffers that
// take turns. Both halves of a workgroup have the same rows and take tiles in turn; in the end they are added up.
// Of the row in slot j, lane l of four has row j ^ l: so the parts of row l come together in slot 0 of lane l, and its
// weights go back to slot j of lane l ^ j, without a choice that depends on the lane.
// In: Q, K, V, OUT, LENGTHS, CAPPED as in ops/attention.wgsl; WIDTH, the size of a head, filled up; ROWS of a workgroup;
//     KEYS; ROUND, how many workgroups start at the same time; SUBGROUP, invocations of one; WIDE, whether q, k, v
//     and out are read and written four elements at a time.
// Out: out (batch, heads, queries, width_out); 0 for a row that may attend nothing.
//% import "common/element.wgsl" as element
//% if "f16" in (Q, K, V, OUT)
enable f16;
//% endif
//% if CAPPED
//% include "common/math.wgsl"
//% include "common/activation.wgsl"
//% endif
//% include "common/attention_params.wgsl"
//% set QUADS = WIDTH // 4
//% set OWN = QUADS // 4
//% set TILE = KEYS * QUADS
//% set LOADS = TILE // ROWS

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> q: ${"array<vec4<" ~ Q ~ ">>" if WIDE else element.storage(Q)};
@group(0) @binding(2) var<storage, read> k: ${"array<vec4<" ~ K ~ ">>" if WIDE else element.storage(K)};
@group(0) @binding(3) var<storage, read> v: ${"array<vec4<" ~ V ~ ">>" if WIDE else element.storage(V)};
@group(0) @binding(4) var<storage, read_write> out: ${"array<vec4<" ~ OUT ~ ">>" if WIDE else element.storage(OUT)};
//% if LENGTHS
@group(0) @binding(6) var<storage, read> lengths: array<i32>;
//% endif

const MASKED = -1.0e30;  // less than any score, but finite, so that differences of two such are numbers

// Quads of k, then of v, key after key, two tiles of each, for each half; in the end rows of the second half.
var<workgroup> tiles: array<vec4f, ${8 * TILE}>;
var<workgroup> others: array<vec2f, ${ROWS}>;

//% set QUADS_OF = (("q", Q, "width"), ("k", K, "width"), ("v", V, "width_out"))
//% include "common/attention_quads.wgsl"
@compute @workgroup_size(${2 * ROWS})
fn main(
    @builtin(workgroup_id) group_id: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(subgroup_invocation_id) position: u32,
) {
    let number = group_id.y * num_workgroups.x + group_id.x;
    let all_heads = params.heads * params.members;
    let count = (params.queries + ${ROWS - 1}u) / ${ROWS}u * all_heads;
    if number >= count {
        return;
    }
    // The last rows first: under a causal mask they have most to do. Every other ROUND is in reverse, so that of the
    // workgroups that a multiprocessor gets at the same time, one has as much more to do as the other has less.
    let begin = number / ${ROUND}u * ${ROUND}u;
    let reversed = begin + min(begin + ${ROUND}u, count) - 1u - number;
    let rank = count - 1u - select(number, reversed, begin / ${ROUND}u % 2u == 1u);
    let head = rank % all_heads % params.heads;
    let member = rank % all_heads / params.heads;
    let first_row = i32(rank / all_heads * ${ROWS}u);
    let invocation = subgroup * ${SUBGROUP}u + position;
    let thread = invocation % ${ROWS}u;
    let half = invocation / ${ROWS}u;
    let own_tiles = half * ${4 * TILE}u;
    let lane = thread % 4u;
    let own_row = first_row + i32(thread);
    let at = vec2i(i32(member), i32(head));
    let shared_at = vec2i(i32(member), i32(head / params.group_size));
    let q_base = i32(params.q_offset) + dot(at, params.q_strides.xy);
    let k_base = i32(params.k_offset) + dot(shared_at, params.k_strides.xy);
    let v_base = i32(params.v_offset) + dot(shared_at, params.v_strides.xy);
    //% for j in range(4)
    let row${j} = own_row ^ ${j};
    //% for d in range(OWN)
    let q${j}_${d} = q_quad(q_base, row${j}, i32(params.queries), 4u * (lane + ${4 * d}u)) * (params.scale${"" if CAPPED else " * 1.44269504"});
    var o${j}_${d} = vec4f();
    //% endfor
    //% endfor

    var keys = i32(params.keys);
    var offset = params.offset;
    //% if LENGTHS
    keys = clamp(lengths[params.lengths_offset + member * u32(params.lengths_strides)], 0, keys);
    if params.by_length != 0u {
        offset = keys - i32(params.queries);
    }
    //% endif
    // keys that any row of this workgroup may attend, and that this invocation's may
    let last_row = min(first_row + ${ROWS - 1}, i32(params.queries) - 1);
    var end = keys;
    if params.right >= 0 {
        end = min(end, last_row + offset + params.right + 1);
    }
    var start = 0;
    if params.left >= 0 {
        start = max(0, first_row + offset - params.left) / ${2 * KEYS} * ${2 * KEYS};
    }
    let low = select(0, own_row + offset - params.left, params.left >= 0);
    let high = select(keys - 1, min(keys - 1, own_row + offset + params.right), params.right >= 0);

    //% for load in range(LOADS)
    let load_row${load} = i32((thread + ${load * ROWS}u) / ${QUADS}u);
    let load_column${load} = (thread + ${load * ROWS}u) % ${QUADS}u * 4u;
    tiles[own_tiles + thread + ${load * ROWS}u] = k_quad(k_base, start + i32(half) * ${KEYS} + load_row${load}, keys, load_column${load});
    tiles[own_tiles + thread + ${load * ROWS + 2 * TILE}u] = v_quad(v_base, start + i32(half) * ${KEYS} + load_row${load}, keys, load_column${load});
    //% endfor
    workgroupBarrier();
    var top = MASKED;
    var sum = 0.0;
    var tile = own_tiles;
    for (var shared_key = start; shared_key < end; shared_key += ${2 * KEYS}) {
        let key = shared_key + i32(half) * ${KEYS};
        // what comes next is loaded before the products with this tile, so that they hide the wait for it
        //% for load in range(LOADS)
        let next_k${load} = k_quad(k_base, key + ${2 * KEYS} + load_row${load}, keys, load_column${load});
        let next_v${load} = v_quad(v_base, key + ${2 * KEYS} + load_row${load}, keys, load_column${load});
        //% endfor
        let is_cut = key + ${KEYS} > keys
            || (params.right >= 0 && key + ${KEYS - 1} > first_row + offset + params.right)
            || (params.left >= 0 && key < last_row + offset - params.left);
        let k_at = tile + lane;
        //% for b in range(KEYS)
        //% for j in range(4)
        var s${j}_${b} = 0.0;
        //% endfor
        //% for d in range(OWN)
        {
            let k = tiles[k_at + ${b * QUADS + 4 * d}u];
            //% for c in range(4)
            //% for j in range(4)
            s${j}_${b} = fma(q${j}_${d}[${c}], k[${c}], s${j}_${b});
            //% endfor
            //% endfor
        }
        //% endfor
        //% endfor
        //% for b in range(KEYS)
        let upper${b} = s0_${b} + subgroupShuffleXor(s2_${b}, 2u);
        let lower${b} = s1_${b} + subgroupShuffleXor(s3_${b}, 2u);
        var p${b} = upper${b} + subgroupShuffleXor(lower${b}, 1u);
        //% if CAPPED
        p${b} = params.cap * 1.44269504 * tanh_(p${b} / params.cap);
        //% endif
        //% endfor
        if is_cut {
            //% for b in range(KEYS)
            {
                let attended = key + ${b};
                p${b} = select(MASKED, p${b}, attended >= low && attended <= high);
            }
            //% endfor
        }
        let old = top;
        //% for b in range(KEYS)
        top = max(top, p${b});
        //% endfor
        if subgroupAny(top > old) {
            let factor = exp2(old - top);
            sum *= factor;
            //% for j in range(4)
            let factor${j} = ${"subgroupShuffleXor(factor, " ~ j ~ "u)" if j else "factor"};
            //% for d in range(OWN)
            o${j}_${d} *= factor${j};
            //% endfor
            //% endfor
        }
        //% for b in range(KEYS)
        p${b} = select(exp2(p${b} - top), 0.0, p${b} <= 0.5 * MASKED);
        sum += p${b};
        //% endfor
        let v_at = ${2 * TILE}u + k_at;
        //% for b in range(KEYS)
        {
            //% for j in range(4)
            let weight${j} = ${"subgroupShuffleXor(p" ~ b ~ ", " ~ j ~ "u)" if j else "p" ~ b};
            //% endfor
            //% for d in range(OWN)
            {
                let v = tiles[v_at + ${b * QUADS + 4 * d}u];
                //% for j in range(4)
                o${j}_${d} = fma(vec4f(weight${j}), v, o${j}_${d});
                //% endfor
            }
            //% endfor
        }
        //% endfor
        tile = 2u * own_tiles + ${TILE}u - tile;
        //% for load in range(LOADS)
        tiles[tile + thread + ${load * ROWS}u] = next_k${load};
        tiles[tile + thread + ${load * ROWS + 2 * TILE}u] = next_v${load};
        //% endfor
        workgroupBarrier();
    }
    // the rows of the second half are added to those of the first
    {
        if half == 1u {
            others[thread] = vec2f(top, sum);
            //% for j in range(4)
            //% for d in range(OWN)
            tiles[${(j * OWN + d) * ROWS}u + thread] = o${j}_${d};
            //% endfor
            //% endfor
        }
        workgroupBarrier();
        let other = others[thread];
        let old = top;
        top = max(old, other.x);
        let factor = exp2(old - top);
        let other_factor = exp2(other.x - top);
        sum = sum * factor + other.y * other_factor;
        //% for j in range(4)
        {
            let factor${j} = ${"subgroupShuffleXor(factor, " ~ j ~ "u)" if j else "factor"};
            let other_factor${j} = ${"subgroupShuffleXor(other_factor, " ~ j ~ "u)" if j else "other_factor"};
            //% for d in range(OWN)
            o${j}_${d} = o${j}_${d} * factor${j} + tiles[${(j * OWN + d) * ROWS}u + thread] * other_factor${j};
            //% endfor
        }
        //% endfor
    }
    let inverse = select(1.0 / sum, 0.0, sum == 0.0);
    let out_base = i32(params.out_offset) + dot(at, params.out_strides.xy);
    //% for j in range(4)
    {
        let factor = ${"subgroupShuffleXor(inverse, " ~ j ~ "u)" if j else "inverse"};
        if row${j} < i32(params.queries) && half == 0u {
            let line = out_base + row${j} * params.out_strides.z;
            //% for d in range(OWN)
            {
                let column = 4u * (lane + ${4 * d}u);
                let result = o${j}_${d} * factor;
                //% if WIDE
                if column < params.width_out {
                    out[u32(line + i32(column)) / 4u] = vec4<${OUT}>(result);
                }
                //% else
                //% for c in range(4)
                if column + ${c}u < params.width_out {
                    out[u32(line + i32(column + ${c}u) * params.out_strides.w)] = ${OUT}(result[${c}]);
                }
                //% endfor
                //% endif
            }
            //% endfor
        }
    }
    //% endfor
}
