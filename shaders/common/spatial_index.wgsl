// The axes of an element of a contiguous tensor (batch, channel, z, y, x), whose last three are as long as params.outs.

struct SpatialIndex {
    member: i32,
    channel: i32,
    at: vec3i,      // z, y, x
}

fn spatial_index(element: u32, channels: u32) -> SpatialIndex {
    let line = element / params.outs.z;
    let plane = line / params.outs.y;
    let image = plane / params.outs.x;
    let at = vec3u(plane % params.outs.x, line % params.outs.y, element % params.outs.z);
    return SpatialIndex(i32(image / channels), i32(image % channels), vec3i(at));
}
