// How many invocations a subgroup has, for adapters that do not report it otherwise.
// Out: size[0].

@group(0) @binding(0) var<storage, read_write> size: array<u32>;

@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(subgroup_size) invocations: u32) {
    if lane == 0u {
        size[0] = invocations;
    }
}
