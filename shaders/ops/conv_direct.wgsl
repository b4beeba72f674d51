// Convolution by one invocation for each result: for integers, and where a group has too few channels to fill a tile.
// In and out: as ops/conv.wgsl, but for the sizes of tiles.
//% import "common/element.wgsl" as element
//% include "common/conv.wgsl"
//% include "common/index.wgsl"

@compute @workgroup_size(128)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    let column = i % params.positions;
    let row = i32(i / params.positions % params.results);
    let group = i / params.positions / params.results % params.groups;
    let member = i / params.positions / params.results / params.groups;
    if member * params.positions >= params.all_positions {
        return;
    }
    let at = unraveled(column);
    let start = at * params.step + params.origin;
    let x_base = i32(params.x_offset) + i32(member) * params.x_strides[0].x + i32(group) * params.x_strides[0].y;
    let w_base = i32(params.w_offset) + i32(group) * params.w_strides[0].x + row * params.w_strides[0].y;
    var total = ${VALUE}(0);
    for (var z = 0; z < params.window.x; z += 1) {
        for (var y = 0; y < params.window.y; y += 1) {
            for (var t = 0; t < params.window.z; t += 1) {
                let tap = vec3i(z, y, t);
                let position = start + tap * params.spread;
                if is_inside(position) {
                    var x_at = x_base + dot(position, params.x_strides[1].xyz);
                    var w_at = w_base + dot(tap, params.w_strides[1].xyz);
                    for (var c = 0; c < params.channels; c += 1) {
                        let a = ${VALUE}(${element.load("x", X, "u32(x_at)")});
                        let b = ${VALUE}(${element.load("w", W, "u32(w_at)")});
                        //% if VALUE == "f32"
                        total = fma(a, b, total);
                        //% else
                        total += a * b;
                        //% endif
                        x_at += params.x_strides[0].z;
                        w_at += params.w_strides[0].z;
                    }
                }
            }
        }
    }
    write_result(total, 0, member, group, row, at);
}
