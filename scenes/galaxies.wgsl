// How the stars and the dust of two galaxies look, found once from where they start. Discs come before bulges. Stars of a bulge
// are old and golden; those of a disc are the younger and bluer the farther out. Some rows of the discs are dust instead:
// large, dark clouds that hide what is behind them. Colors are those of photographs of spiral galaxies, a little more saturated.

struct Fields { stars: u32, glow: f32, dust_share: f32, dust_depth: f32, cloud: f32, star: f32 }
@group(0) @binding(0) var<uniform> fields: Fields;
@group(0) @binding(1) var<storage, read> radius: array<f32>;            // [scale lengths of the disc]
@group(0) @binding(2) var<storage, read_write> color: array<f32>;       // display-referred sRGB
@group(0) @binding(3) var<storage, read_write> spread: array<f32>;      // standard deviation [scale lengths of the disc]
@group(0) @binding(4) var<storage, read_write> opacity: array<f32>;

const DISCS = 0.882;        // their share of the stars

// A number in [0, 1) of a row, by the hash PCG (O'Neill 2014).
fn random(row: u32, stream: u32) -> f32 {
    let state = (row * 4u + stream) * 747796405u + 2891336453u;
    let word = ((state >> ((state >> 28u) + 4u)) ^ state) * 277803737u;
    return f32((word >> 22u) ^ word) / 4294967296.0;
}

@compute @workgroup_size(64)
fn paint(@builtin(global_invocation_id) id: vec3u) {
    let row = id.x;
    if row >= fields.stars { return; }
    let chance = random(row, 0u);
    let size = 0.5 + random(row, 2u);
    let young = smoothstep(0.5, 2.2, radius[row] + 0.6 * (random(row, 1u) - 0.5));
    var rgb = mix(vec3f(1.0, 0.80, 0.55), vec3f(0.55, 0.72, 1.0), young);
    var width = fields.star * size;
    var alpha = fields.glow;
    if f32(row) > DISCS * f32(fields.stars) {
        rgb = vec3f(1.0, 0.86, 0.66);
        alpha *= 1.4;
    } else if chance < fields.dust_share && radius[row] > 0.5 && radius[row] < 3.5 {
        rgb = vec3f(0.035, 0.018, 0.012);
        width = fields.cloud * size;
        alpha = fields.dust_depth;
    } else if chance > 0.985 {  // ionized hydrogen
        rgb = vec3f(1.0, 0.36, 0.52);
        width *= 1.6;
    }
    for (var channel = 0u; channel < 3u; channel++) { color[3u * row + channel] = rgb[channel]; }
    spread[row] = width;
    opacity[row] = alpha;
}
