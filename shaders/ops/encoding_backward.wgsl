// Gradients of encodings: back to the points, and of hash grids to the tables.
// What goes to one entry is added up in integers, so that the order does not matter: a contribution is rounded to a
// multiple of a power of two, and added in two words, so wide that no number of points makes them overflow.
// In: what common/encoding.wgsl names; X and TABLES, dtypes; COUNT and INCLUDE, of frequencies; LEVELS, of hash grids;
//     gradient (points, features); largest, the magnitude of its largest element; params.bits of both words together,
//     params.low of the lower one.
// Out: main, for frequencies, and points, for hash grids: found (points, coordinates); spread: words, two of each
//     element of the tables, which begin as 0; finish: found, of the tables.
//% set VALUES = {1: "f32", 2: "vec2f", 4: "vec4f"}[FEATURES]
//% if "f16" in (X, TABLES)
enable f16;
//% endif

struct Params {
    count: u32,
    x_offset: u32,
    tables_offset: u32,
    gradient_offset: u32,
    largest_offset: u32,
    elements: u32,       // of the tables
    bits: u32,
    low: u32,
    x_strides: vec2i,    // from point to point, from coordinate to coordinate
    gradient_strides: vec2i,
    resolutions: array<vec4u, 8>,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<${X}>;
@group(0) @binding(2) var<storage, read> gradient: array<f32>;
@group(0) @binding(3) var<storage, read_write> found: array<f32>;
//% if ENCODING == "hash"
@group(0) @binding(4) var<storage, read> tables: array<${{1: TABLES, 2: "vec2<" ~ TABLES ~ ">", 4: "vec4<" ~ TABLES ~ ">"}[FEATURES]}>;
@group(0) @binding(5) var<storage, read> largest: array<f32>;
@group(0) @binding(6) var<storage, read_write> words: array<atomic<u32>>;
//% endif
//% include "common/encoding.wgsl"
//% include "common/coordinates.wgsl"

fn gradient_at(point: u32, feature: u32) -> f32 {
    let row = i32(params.gradient_offset) + i32(point) * params.gradient_strides.x;
    return gradient[row + i32(feature) * params.gradient_strides.y];
}
//% if ENCODING == "frequency"

@compute @workgroup_size(128)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let number = id.y * (num_workgroups.x * 128u) + id.x;
    let point = number / ${DIMENSIONS}u;
    let axis = number % ${DIMENSIONS}u;
    if point >= params.count {
        return;
    }
    var turns = coordinate(point, axis);
    var factor = 3.14159265;
    var sum = ${"gradient_at(point, axis)" if INCLUDE else "0.0"};
    for (var f = 0u; f < ${COUNT}u; f += 1u) {
        let feature = ${DIMENSIONS if INCLUDE else 0}u + f * ${2 * DIMENSIONS}u + axis;
        let sine = gradient_at(point, feature) * cos_half_turns(turns);
        sum += factor * (sine - gradient_at(point, feature + ${DIMENSIONS}u) * sin_half_turns(turns));
        turns *= 2.0;
        factor *= 2.0;
    }
    found[number] = sum;
}
//% else

// The power of two by which contributions are counted: params.bits below the largest gradient, rounded up to one.
fn unit_exponent() -> i32 {
    return i32((bitcast<u32>(largest[params.largest_offset]) >> 23u) & 255u) - 126 - i32(params.bits);
}

// x times 2^e, in two steps, since 2^e by itself may be beyond what f32 holds.
fn scaled(x: f32, e: i32) -> f32 {
    let half = e / 2;
    return x * bitcast<f32>(u32(half + 127) << 23u) * bitcast<f32>(u32(e - half + 127) << 23u);
}

@compute @workgroup_size(128)
fn spread(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let number = id.y * (num_workgroups.x * 128u) + id.x;
    let level = number / params.count;  // points of one level side by side: they share entries of the coarse ones
    let point = number % params.count;
    if level >= ${LEVELS}u {
        return;
    }
    let cell = cell_with(coordinates_of(point), level);
    let exponent = unit_exponent();
    //% for n in range(FEATURES)
    let g${n} = scaled(gradient_at(point, level * ${FEATURES}u + ${n}u), -exponent);
    //% endfor
    //% for corner in range(2 ** DIMENSIONS)
    {
        let corner = corner_of(cell, ${corner}u);
        //% for n in range(FEATURES)
        {
            let contribution = i32(round(corner.weight * g${n}));
            let word = 2u * (corner.entry * ${FEATURES}u + ${n}u);
            atomicAdd(&words[word], u32(contribution) & ((1u << params.low) - 1u));
            atomicAdd(&words[word + 1u], bitcast<u32>(contribution >> params.low));
        }
        //% endfor
    }
    //% endfor
}

// A gradient that is not finite makes all of them NaN.
@compute @workgroup_size(128)
fn finish(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let number = id.y * (num_workgroups.x * 128u) + id.x;
    if number >= params.elements {
        return;
    }
    let low = f32(atomicLoad(&words[2u * number]));
    let high = f32(bitcast<i32>(atomicLoad(&words[2u * number + 1u])));
    let exponent = unit_exponent();
    let most = bitcast<u32>(largest[params.largest_offset]);
    let broken = (most & 0x7f800000u) == 0x7f800000u;
    let sum = scaled(low, exponent) + scaled(high, exponent + i32(params.low));
    found[number] = select(sum, bitcast<f32>(most | 0x7fc00000u), broken);
}

@compute @workgroup_size(128)
fn points(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let point = id.y * (num_workgroups.x * 128u) + id.x;
    if point >= params.count {
        return;
    }
    let here = coordinates_of(point);
    //% for d in range(DIMENSIONS)
    var sum${d} = 0.0;
    //% endfor
    for (var level = 0u; level < ${LEVELS}u; level += 1u) {
        let cell = cell_with(here, level);
        let cells = f32(cell.line - 1u);
        //% for corner in range(2 ** DIMENSIONS)
        {
            let corner = corner_of(cell, ${corner}u);
            let values = ${VALUES}(tables[params.tables_offset / ${FEATURES}u + corner.entry]);
            var along = 0.0;
            //% for n in range(FEATURES)
            along += gradient_at(point, level * ${FEATURES}u + ${n}u) * values${"[" ~ n ~ "]" if FEATURES > 1 else ""};
            //% endfor
            //% for d in range(DIMENSIONS)
            {
                var derivative = ${"cells" if corner // 2 ** d % 2 else "-cells"};
                //% for other in range(DIMENSIONS)
                //% if other != d
                derivative *= ${"cell.fraction[" ~ other ~ "]" if corner // 2 ** other % 2 else "(1.0 - cell.fraction[" ~ other ~ "])"};
                //% endif
                //% endfor
                sum${d} += derivative * along;
            }
            //% endfor
        }
        //% endfor
    }
    //% for d in range(DIMENSIONS)
    found[point * ${DIMENSIONS}u + ${d}u] = select(0.0, sum${d}, here[${d}] >= 0.0 && here[${d}] <= 1.0);
    //% endfor
}
//% endif
