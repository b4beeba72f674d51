// How a material point model of sand and water is drawn: water as a liquid, each row of sand as a few grains, and the
// tank around both.

struct Fields {
    count: u32, grains: u32, sand_rows: u32, grain: f32, drop: f32, spread: f32, loosening: f32,
    bar: f32, length: f32, height: f32, width: f32,
}
@group(0) @binding(0) var<uniform> fields: Fields;
@group(0) @binding(1) var<storage, read> material: array<u32>;              // 0: water
@group(0) @binding(2) var<storage, read> position: array<f32>;
@group(0) @binding(3) var<storage, read> color: array<f32>;
@group(0) @binding(4) var<storage, read> speed: array<f32>;
@group(0) @binding(5) var<storage, read_write> drop_size: array<f32>;
@group(0) @binding(6) var<storage, read_write> grain_position: array<f32>;  // of `grains` for each of the last rows
@group(0) @binding(7) var<storage, read_write> grain_color: array<f32>;
@group(0) @binding(8) var<storage, read_write> grain_size: array<f32>;
@group(0) @binding(9) var<storage, read_write> bar_position: array<f32>;
@group(0) @binding(10) var<storage, read_write> bar_size: array<f32>;
@group(0) @binding(11) var<storage, read_write> table: array<f32>;
@group(0) @binding(12) var<storage, read_write> shelf: array<f32>;

// Steps of a sequence that fills a cube evenly (Roberts 2018, "The unreasonable effectiveness of quasirandom sequences").
const STEPS = vec3f(0.8191725, 0.6710436, 0.5497005);

const FASTEST = 2.0;                  // speed above which sand is no looser [m/s]
const SHELF = vec2f(-0.4, 0.159);     // middle of the part of it that is in the tank [m]

@compute @workgroup_size(64)
fn pour(@builtin(global_invocation_id) id: vec3u) {
    if id.x < fields.count { drop_size[id.x] = select(0.0, fields.drop, material[id.x] == 0u); }
}

@compute @workgroup_size(16, 4)
fn scatter(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= fields.sand_rows || id.y >= fields.grains { return; }
    let grain = id.x * fields.grains + id.y;
    let row = fields.count - fields.sand_rows + id.x;
    // Sand that flies or flows is looser: its grains are no clusters.
    let spread = fields.spread * (1.0 + fields.loosening * min(speed[row], FASTEST));
    let offset = spread * (fract(STEPS * f32(grain % 65536u)) - 0.5);
    for (var k = 0u; k < 3u; k++) {
        grain_position[3u * grain + k] = position[3u * row + k] + offset[k];
        grain_color[3u * grain + k] = color[3u * row + k];
    }
    grain_position[3u * grain + 1u] = max(grain_position[3u * grain + 1u], 0.0);
    grain_size[grain] = select(fields.grain, 0.0, material[row] == 0u);
}

// The posts of the tank, and the rim around its bed; the table under it, and the shelf inside.
@compute @workgroup_size(8)
fn frame(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= 8u { return; }
    let tank = vec3f(fields.length, fields.height, fields.width);
    let side = vec3f(f32(id.x & 1u) - 0.5, 0.5, f32((id.x >> 1u) & 1u) - 0.5);
    var middle = side * (tank + vec3f(fields.bar, 0.0, fields.bar));
    var size = vec3f(fields.bar, tank.y, fields.bar);
    if id.x >= 4u {
        let across = id.x >= 6u;
        middle = select(vec3f(0.0, 0.0, f32(id.x & 1u) - 0.5), vec3f(f32(id.x & 1u) - 0.5, 0.0, 0.0), across);
        middle *= tank + vec3f(fields.bar, 0.0, fields.bar);
        size = select(vec3f(tank.x + 2.0 * fields.bar, fields.bar, fields.bar), vec3f(fields.bar, fields.bar, tank.z), across);
    }
    for (var k = 0u; k < 3u; k++) {
        bar_position[3u * id.x + k] = middle[k];
        bar_size[3u * id.x + k] = size[k];
    }
    if id.x == 0u {
        table[1] = -0.02;
        shelf[0] = SHELF.x;
        shelf[1] = SHELF.y;
    }
}
