// The index of an invocation in a dispatch whose row of workgroups may have been folded into two dimensions.
fn linear_index(id: vec3u, groups: vec3u, workgroup: u32) -> u32 {
    return id.y * (groups.x * workgroup) + id.x;
}
