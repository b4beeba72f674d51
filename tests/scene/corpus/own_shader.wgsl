// The shader of own_shader.toml.
struct Fields { side: u32, on: u32, gain: f32, dt: f32, tint: vec3f, along: vec3f }
@group(0) @binding(0) var<uniform> fields: Fields;
@group(0) @binding(1) var<storage, read_write> cell: array<f32>;
@group(0) @binding(2) var<storage, read_write> kept: array<u32>;

@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if any(id.xy >= vec2u(fields.side)) { return; }
    cell[id.y * fields.side + id.x] += fields.gain * fields.along.y * fields.tint.x * f32(fields.on);
}

@compute @workgroup_size(8, 8)
fn fill(@builtin(global_invocation_id) id: vec3u) {
    if any(id.xy >= vec2u(fields.side)) { return; }
    kept[id.y * fields.side + id.x] += id.x;
}
