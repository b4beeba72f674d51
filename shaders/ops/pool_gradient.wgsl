// The gradient of max pooling: each element of x adds up what the windows that chose it bring, in their order.
// In: DTYPE of the gradient, f32 or f16; indices, for each window the index of its largest element in the flattened x.
// Out: out[i] = sum of gradient[w] over windows w with indices[w] = i; all tensors are contiguous.
//% if DTYPE == "f16"
enable f16;
//% endif
//% include "common/index.wgsl"

struct Params {
    count: u32,
    gradient_offset: u32,
    indices_offset: u32,
    out_offset: u32,
    size: vec3i,   // of x, along z, y, x
    outs: vec3i,   // windows along each axis
    step: vec3i,
    begin: vec3i,
    reach: vec3i,  // from the first to the last element that a window sees
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> gradient: array<${DTYPE}>;
@group(0) @binding(2) var<storage, read> indices: array<i32>;
@group(0) @binding(3) var<storage, read_write> out: array<${DTYPE}>;

@compute @workgroup_size(128)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.count {
        return;
    }
    let size = params.size;
    let own = i32(i);
    let plane = own / (size.x * size.y * size.z);  // of a channel of a member
    let at = vec3i(own / (size.y * size.z) % size.x, own / size.z % size.y, own % size.z) + params.begin;
    let step = params.step;
    let first = (max(at - params.reach + 1, vec3i(0)) + step - 1) / step;
    let end = min(at / step + 1, params.outs);
    var total = 0.0;
    for (var a = first.x; a < end.x; a += 1) {
        for (var b = first.y; b < end.y; b += 1) {
            let line = ((plane * params.outs.x + a) * params.outs.y + b) * params.outs.z;
            for (var c = first.z; c < end.z; c += 1) {
                if indices[i32(params.indices_offset) + line + c] == own {
                    total += f32(gradient[i32(params.gradient_offset) + line + c]);
                }
            }
        }
    }
    out[params.out_offset + i] = ${DTYPE}(total);
}
