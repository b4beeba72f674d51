// How a material point model of four kinds of matter is drawn: water as a liquid, the others as balls, each kind of a size.

struct Fields { count: u32, drop: f32, jelly: f32, snow: f32, sand: f32 }
@group(0) @binding(0) var<uniform> fields: Fields;
@group(0) @binding(1) var<storage, read> material: array<u32>;      // 0 water, 1 jelly, 2 snow, 3 sand
@group(0) @binding(2) var<storage, read_write> drop_size: array<f32>;
@group(0) @binding(3) var<storage, read_write> jelly_size: array<f32>;
@group(0) @binding(4) var<storage, read_write> grain_size: array<f32>;

@compute @workgroup_size(64)
fn sort(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= fields.count { return; }
    let kind = material[id.x];
    drop_size[id.x] = select(0.0, fields.drop, kind == 0u);
    jelly_size[id.x] = select(0.0, fields.jelly, kind == 1u);
    grain_size[id.x] = vec4f(0.0, 0.0, fields.snow, fields.sand)[kind];
}
