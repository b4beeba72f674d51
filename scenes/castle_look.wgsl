// Sizes by which the rows of a material point model are drawn: water as a liquid, all others as grains.

struct Fields { count: u32, grain: f32, drop: f32 }
@group(0) @binding(0) var<uniform> fields: Fields;
@group(0) @binding(1) var<storage, read> material: array<u32>;          // 0: water
@group(0) @binding(2) var<storage, read_write> grain_size: array<f32>;
@group(0) @binding(3) var<storage, read_write> drop_size: array<f32>;

@compute @workgroup_size(64)
fn sort(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= fields.count { return; }
    let is_water = material[id.x] == 0u;
    grain_size[id.x] = select(fields.grain, 0.0, is_water);
    drop_size[id.x] = select(0.0, fields.drop, is_water);
}
