// Encodings of points for coordinate networks, by themselves.
// In: what common/encoding.wgsl names; X and TABLES, dtypes of the points and the tables; OUT; for frequencies COUNT, how
//     many, and INCLUDE, whether the coordinates themselves come first; for hash grids LEVELS.
// Out: out (points, features). Frequencies: [x], then for each f sin(2^f pi x) and cos(2^f pi x) of all coordinates.
//     Hash grids: the features of the coarsest level first.
//% if "f16" in (X, OUT, TABLES)
enable f16;
//% endif

struct Params {
    count: u32,
    x_offset: u32,
    out_offset: u32,
    tables_offset: u32,
    x_strides: vec2i,    // from point to point, from coordinate to coordinate
    out_strides: vec2i,
    resolutions: array<vec4u, 8>,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<${X}>;
@group(0) @binding(2) var<storage, read_write> out: array<${OUT}>;
//% if ENCODING == "hash"
@group(0) @binding(3) var<storage, read> tables: array<${{1: TABLES, 2: "vec2<" ~ TABLES ~ ">", 4: "vec4<" ~ TABLES ~ ">"}[FEATURES]}>;
//% endif
//% include "common/encoding.wgsl"
//% include "common/coordinates.wgsl"

fn write(point: u32, feature: u32, value: f32) {
    out[i32(params.out_offset) + i32(point) * params.out_strides.x + i32(feature) * params.out_strides.y] = ${OUT}(value);
}

@compute @workgroup_size(128)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let number = id.y * (num_workgroups.x * 128u) + id.x;
    //% if ENCODING == "frequency"
    let point = number / ${DIMENSIONS}u;
    let axis = number % ${DIMENSIONS}u;
    if point >= params.count {
        return;
    }
    var turns = coordinate(point, axis);
    //% if INCLUDE
    write(point, axis, turns);
    //% endif
    for (var f = 0u; f < ${COUNT}u; f += 1u) {
        let feature = ${DIMENSIONS if INCLUDE else 0}u + f * ${2 * DIMENSIONS}u + axis;
        write(point, feature, sin_half_turns(turns));
        write(point, feature + ${DIMENSIONS}u, cos_half_turns(turns));
        turns *= 2.0;
    }
    //% else
    let point = number / ${LEVELS}u;
    let level = number % ${LEVELS}u;
    if point >= params.count {
        return;
    }
    let features = level_features(coordinates_of(point), level);
    //% for n in range(FEATURES)
    write(point, level * ${FEATURES}u + ${n}u, features${"[" ~ n ~ "]" if FEATURES > 1 else ""});
    //% endfor
    //% endif
}
