// Words set to 0 within a plan, before others count or publish in them.
// Out: words[i] = 0 for the first params.count.
//% include "common/index.wgsl"

struct Params {
    count: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> words: array<u32>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 256u);
    if i < params.count {
        words[i] = 0u;
    }
}
