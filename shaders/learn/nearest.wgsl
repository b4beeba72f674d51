// For each point, which of others is nearest: every pair, others read into workgroup memory tile by tile.
// In: AXES, coordinates of a point; points (count, AXES) and others (number, AXES), f32, contiguous.
// Out: nearest (count), i32: of equally near ones the first.
//% include "common/index.wgsl"
//% set TILE = 256

struct Params {
    count: u32,
    number: u32,
    points_offset: u32,
    others_offset: u32,
    nearest_offset: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> points: array<f32>;
@group(0) @binding(2) var<storage, read> others: array<f32>;
@group(0) @binding(3) var<storage, read_write> nearest: array<i32>;

var<workgroup> tile: array<array<f32, ${AXES}>, ${TILE}>;

@compute @workgroup_size(${TILE})
fn main(
    @builtin(global_invocation_id) id: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = linear_index(id, num_workgroups, ${TILE}u);
    let own = params.points_offset + min(i, params.count - 1u) * ${AXES}u;
    //% for k in range(AXES)
    let x${k} = points[own + ${k}u];
    //% endfor
    var least = bitcast<f32>(0x7f7fffffu + (lane & 0u));
    var found = 0u;
    for (var start = 0u; start < params.number; start += ${TILE}u) {
        let at = params.others_offset + min(start + lane, params.number - 1u) * ${AXES}u;
        workgroupBarrier();
        //% for k in range(AXES)
        tile[lane][${k}] = others[at + ${k}u];
        //% endfor
        workgroupBarrier();
        let end = min(${TILE}u, params.number - start);
        for (var j = 0u; j < end; j += 1u) {
            var square = 0.0;
            //% for k in range(AXES)
            let d${k} = tile[j][${k}] - x${k};
            square = fma(d${k}, d${k}, square);
            //% endfor
            let is_nearer = square < least;
            least = select(least, square, is_nearer);
            found = select(found, start + j, is_nearer);
        }
    }
    if i < params.count {
        nearest[params.nearest_offset + i] = i32(found);
    }
}
