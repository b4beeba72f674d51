// A matrix of packed weights times one vector, with what comes before and after it in a transformer: one read of the
// weights, as fast as memory gives them. A workgroup holds the vector, normalized, and makes a block of rows after the
// other; LANES invocations share four rows, and read the next weights, and what is added to rows, before they work on those
// they have.
// In: FORMAT and GROUP as in packed_weights.wgsl; THREADS, LANES, TURNS (chunks that an invocation reads of each row at a
//     time); SUBGROUP, invocations of a subgroup, or 0 where LANES are no whole subgroups; INNER, the elements of a row, and SECTION of them held at a time; NORM: "", "rms" or "layer", with SHIFT a bias of it;
//     SPLITS: the vector is the result of attention.wgsl in so many parts of HEADS heads of HEAD each, TILE keys at
//     least, or 0; BIAS; THEN: "store", "add" to what is there, "activate", or "gate": activation(row 2i) * row 2i + 1.
// Out: out.
//% import "common/packed_weights.wgsl" as packed with context
//% set CHUNK = packed.CHUNK
//% set QUADS = packed.QUADS
//% set CHUNKS = INNER // CHUNK
//% set HELD = SECTION // CHUNK
//% set GROUPS = THREADS // LANES
//% set STEP = LANES * TURNS
//% set WIDTH = 2 if THEN == "gate" else 1
//% include "common/math.wgsl"
//% include "common/activation.wgsl"

struct Params {
    rows: u32,
    x_first: u32,  // quad of x at which the vector begins
    epsilon: f32,
    //% if SPLITS
    position: u32,
    //% endif
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(0) @binding(2) var<storage, read> weights: array<vec4u>;
@group(0) @binding(3) var<storage, read> x: array<vec4f>;
//% if FORMAT == "int4"
@group(0) @binding(4) var<storage, read> scales: array<u32>;
//% endif
//% if NORM
@group(0) @binding(5) var<storage, read> gain: array<vec4f>;
//% endif
//% if SHIFT
@group(0) @binding(6) var<storage, read> shift: array<vec4f>;
//% endif
//% if BIAS
@group(0) @binding(7) var<storage, read> bias: array<f32>;
//% endif
//% if SPLITS
@group(0) @binding(8) var<storage, read> weight_sums: array<vec2f>;  // largest score and sum of weights of each part
//% endif

//% set SUMS = GROUPS * (LANES // SUBGROUP) if SUBGROUP else THREADS
var<workgroup> partial: array<vec4f, ${SUMS}>;
//% include "common/held_vector.wgsl"

@compute @workgroup_size(${THREADS})
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    //% if SUBGROUP
    @builtin(subgroup_id) subgroup: u32,
    @builtin(subgroup_invocation_id) subgroup_lane: u32,
    //% else
    @builtin(local_invocation_index) lane: u32,
    //% endif
) {
    //% if SUBGROUP
    let lane = subgroup * ${SUBGROUP}u + subgroup_lane;
    //% endif
    let line = lane % ${LANES}u;
    let own = lane / ${LANES}u * 4u;  // the first of its rows within a block
    let blocks = (params.rows + ${4 * GROUPS - 1}u) / ${4 * GROUPS}u;
    var block = group.x;
    var k = line;  // chunk of the weights that are read next
    //% for turn in range(TURNS)
    //% for r in range(4)
    var next${turn}_${r} = vec4u();
    //% if FORMAT == "int4"
    var next_scale${turn}_${r} = 0u;
    //% endif
    //% endfor
    //% endfor
    //% if BIAS or THEN == "add"
    var next_rest = array<f32, ${WIDTH}>();  // what is added to the rows of a block
    //% endif
    //% macro read(block, k)
    {
        let row = min(${block} * ${4 * GROUPS}u + own, (params.rows - 1u) / 4u * 4u);
        //% if BIAS or THEN == "add"
        if ${k} == line && line < ${4 // WIDTH}u && row + line * ${WIDTH}u < params.rows {
            //% for w in range(WIDTH)
            //% set at = "row + line * " ~ WIDTH ~ "u + " ~ w ~ "u"
            next_rest[${w}] = ${"bias[" ~ at ~ "]" if BIAS}${" + " if BIAS and THEN == "add"}${"out[" ~ at ~ "]" if THEN == "add"};
            //% endfor
        }
        //% endif
        //% for turn in range(TURNS)
        {
            let chunk = min(${k} + ${turn * LANES}u, ${CHUNKS - 1}u);
            //% for r in range(4)
            next${turn}_${r} = weights[(row + ${r}u) * ${CHUNKS}u + chunk];
            //% if FORMAT == "int4"
            next_scale${turn}_${r} = scales[(row + ${r}u) * ${INNER // GROUP}u + chunk / ${GROUP // CHUNK}u];
            //% endif
            //% endfor
        }
        //% endfor
    }
    //%- endmacro
    ${read("block", "k")}
    //% set TWICE = NORM == "layer" or (NORM and SECTION < INNER)
    var mean = 0.0;
    var scale = 1.0;
    //% if TWICE
    {
        var sum = 0.0;
        //% if NORM == "layer"
        for (var i = lane; i < ${INNER // 4}u; i += ${THREADS}u) {
            let value = element(i);
            sum += value.x + value.y + value.z + value.w;
        }
        mean = total(sum, lane) / ${INNER}.0;
        workgroupBarrier();
        sum = 0.0;
        //% endif
        for (var i = lane; i < ${INNER // 4}u; i += ${THREADS}u) {
            let value = element(i) - mean;
            sum += dot(value, value);
        }
        scale = inverseSqrt(total(sum, lane) / ${INNER}.0 + params.epsilon);
    }
    //% endif
    //% if SPLITS
    weigh_parts(lane);
    workgroupBarrier();
    //% endif
    //% if SECTION >= INNER
    let squares = hold(0u, lane, mean, scale);
    //% if NORM and not TWICE
    scale = inverseSqrt(total(squares, lane) / ${INNER}.0 + params.epsilon);
    //% else
    workgroupBarrier();
    //% endif
    //% if FORMAT == "int4"
    divide_into_digits(lane);
    workgroupBarrier();
    //% endif
    //% endif
    var sum = vec4f();
    while block < blocks {
        //% for turn in range(TURNS)
        //% for r in range(4)
        let now${turn}_${r} = next${turn}_${r};
        //% if FORMAT == "int4"
        let scale${turn}_${r} = next_scale${turn}_${r};
        //% endif
        //% endfor
        //% endfor
        //% if BIAS or THEN == "add"
        let rest = next_rest;
        //% endif
        let here = k;
        let here_block = block;
        k += ${STEP}u;
        let ends = k - line >= ${CHUNKS}u;
        if ends {
            k = line;
            block += num_workgroups.x;
        }
        if block < blocks {
            ${read("block", "k")}
        }
        //% if SECTION < INNER
        let begins = (here - line) % ${HELD}u == 0u;
        if begins {
            workgroupBarrier();
            _ = hold(here - line, lane, mean, scale);
            workgroupBarrier();
            //% if FORMAT == "int4"
            divide_into_digits(lane);
            workgroupBarrier();
            //% endif
        }
        //% endif
        //% for turn in range(TURNS)
        if here + ${turn * LANES}u < ${CHUNKS}u {
            let c = ${"here" if SECTION >= INNER else "here % " ~ HELD ~ "u"} + ${turn * LANES}u;
            //% if FORMAT == "int4"
            //% for r in range(4)
            var high${r} = 0;
            var low${r} = 0;
            //% endfor
            //% for j in range(QUADS // 2)
            let digits${j} = vector[${j * HELD}u + c];
            //% for r in range(4)
            let even${j}_${r} = now${turn}_${r}[${j}] & 0x0f0f0f0fu;
            let odd${j}_${r} = (now${turn}_${r}[${j}] >> 4u) & 0x0f0f0f0fu;
            high${r} += dot4I8Packed(even${j}_${r}, digits${j}.x) + dot4I8Packed(odd${j}_${r}, digits${j}.y);
            low${r} += dot4I8Packed(even${j}_${r}, digits${j}.z) + dot4I8Packed(odd${j}_${r}, digits${j}.w);
            //% endfor
            //% endfor
            let scales_here = vector_scales[c];
            sum += vec4f(
                //% for r in range(4)
                dot(unpack2x16float(scale${turn}_${r}), vec2f(f32(high${r} * 256 + low${r}) * scales_here.x, scales_here.y)),
                //% endfor
            );
            //% else
            //% for q in range(QUADS)
            let x${q} = vector[${q * HELD}u + c];
            sum += vec4f(
                //% for r in range(4)
                dot(${packed.quad("now" ~ turn ~ "_" ~ r, q)}, x${q}),
                //% endfor
            );
            //% endfor
            //% endif
        }
        //% endfor
        if ends {
            //% if NORM == "rms"
            sum *= scale;
            //% endif
            //% if SUBGROUP
            sum = subgroupAdd(sum);
            //% if SUMS > GROUPS
            if subgroup_lane == 0u {
                partial[subgroup] = sum;
            }
            workgroupBarrier();
            //% endif
            //% else
            partial[lane] = sum;
            workgroupBarrier();
            //% endif
            let row = here_block * ${4 * GROUPS}u + own;
            if line < ${4 // WIDTH}u && row + line * ${WIDTH}u < params.rows {
                //% for w in range(WIDTH)
                //% if SUBGROUP and SUMS == GROUPS
                var value${w} = sum[line * ${WIDTH}u + ${w}u];
                //% else
                var value${w} = 0.0;
                for (var other = 0u; other < ${SUMS // GROUPS}u; other += 1u) {
                    value${w} += partial[lane / ${LANES}u * ${SUMS // GROUPS}u + other][line * ${WIDTH}u + ${w}u];
                }
                //% endif
                //% if BIAS or THEN == "add"
                value${w} += rest[${w}];
                //% endif
                //% endfor
                //% if THEN == "gate"
                out[row / 2u + line] = ${ACTIVATION}(value0) * value1;
                //% elif THEN == "activate"
                out[row + line] = ${ACTIVATION}(value0);
                //% else
                out[row + line] = value0;
                //% endif
            }
            //% if not SUBGROUP or SUMS > GROUPS
            workgroupBarrier();
            //% endif
            sum = vec4f();
        }
    }
}
