// The end of a convolution that ops/conv.wgsl computed in slices of the inner axis: their sum, and what is added to it.
// In: x, the sums of each slice, contiguous, slice by slice; BIAS, RESIDUAL, OUT, VALUE, ACTIVATION as in ops/conv.wgsl.
// Out: out = activation(sum of the slices + bias + residual).
//% include "common/conv.wgsl"
//% include "common/index.wgsl"

@compute @workgroup_size(128)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    let column = i % params.positions;
    let row = i / params.positions % params.results;
    let group = i / params.positions / params.results % params.groups;
    let member = i / params.positions / params.results / params.groups;
    if member * params.positions >= params.all_positions {
        return;
    }
    var total = ${VALUE}(0);
    for (var slice = 0u; slice < params.slices; slice += 4u) {  // four at a time, so that their waits overlap
        //% for s in range(4)
        let is_there${s} = slice + ${s}u < params.slices;
        let part${s} = x[params.x_offset + select(0u, slice + ${s}u, is_there${s}) * u32(params.slice_stride) + i];
        //% endfor
        //% for s in range(4)
        total += select(${VALUE}(0), part${s}, is_there${s});
        //% endfor
    }
    write_result(total, 0, member, group, i32(row), unraveled(column));
}
