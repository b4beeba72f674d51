// An image of three bytes a pixel, as files have it, converted to values from 0 to 1.
// In: bytes (rows, columns, 3), packed, four bytes to a word. count is the number of pixels.
// Out: pixels (rows, columns, 3), and planes (3, rows, columns), the same by channel.
// The reference implementation is in app/vertigrad/models/data/screen.py.
//% include "common/index.wgsl"

struct Params {
    count: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> bytes: array<u32>;
@group(0) @binding(2) var<storage, read_write> pixels: array<f32>;
@group(0) @binding(3) var<storage, read_write> planes: array<f32>;

@compute @workgroup_size(128)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.count {
        return;
    }
    for (var channel = 0u; channel < 3u; channel++) {
        let at = 3u * i + channel;
        let byte = (bytes[at >> 2u] >> (8u * (at & 3u))) & 0xffu;
        let value = f32(byte) * (1.0 / 255.0);
        pixels[at] = value;
        planes[channel * params.count + i] = value;
    }
}
