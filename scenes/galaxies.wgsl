// Colors, sizes and opacities of the stars and clouds of two galaxies. Rows are those of n-body models: discs, then bulges.
// Old stars of the bulges are golden, discs become blue outwards; some rows are clouds of dust, a few are pink hydrogen.

struct Fields { count: u32, dust_share: f32, dust_depth: f32, glow: f32, star: f32, cloud: f32 }
@group(0) @binding(0) var<uniform> fields: Fields;
@group(0) @binding(1) var<storage, read> radius: array<f32>;            // from the center of the galaxy, at the start
@group(0) @binding(2) var<storage, read_write> color: array<f32>;       // sRGB
@group(0) @binding(3) var<storage, read_write> scale: array<f32>;
@group(0) @binding(4) var<storage, read_write> opacity: array<f32>;

const DISCS = 0.882;        // of the stars; the others are bulges
const HYDROGEN = 0.015;     // share of glowing clouds
const BULGE = vec3f(1.0, 0.86, 0.66);
const INNER = vec3f(1.0, 0.80, 0.55);
const OUTER = vec3f(0.55, 0.72, 1.0);
const DUST = vec3f(0.035, 0.018, 0.012);
const PINK = vec3f(1.0, 0.36, 0.52);

// A number in [0, 1) of a row: the PCG hash (Jarzynski and Olano 2020).
fn random(row: u32, stream: u32) -> f32 {
    let state = (row * 4u + stream) * 747796405u + 2891336453u;
    let word = ((state >> ((state >> 28u) + 4u)) ^ state) * 277803737u;
    return f32(((word >> 22u) ^ word) >> 8u) / 16777216.0;
}

fn write(row: u32, tint: vec3f, size: f32, alpha: f32) {
    color[3u * row] = tint.x;
    color[3u * row + 1u] = tint.y;
    color[3u * row + 2u] = tint.z;
    scale[row] = size;
    opacity[row] = alpha;
}

@compute @workgroup_size(64)
fn paint(@builtin(global_invocation_id) id: vec3u) {
    let row = id.x;
    if row >= fields.count { return; }
    let kind = random(row, 0u);
    let spread = random(row, 1u);
    let dust = fields.dust_share * smoothstep(0.3, 0.8, radius[row]) * (1.0 - smoothstep(1.6, 2.6, radius[row]));
    if f32(row) > DISCS * f32(fields.count) {
        write(row, BULGE, fields.star * (0.6 + 0.8 * spread), fields.glow);
    } else if kind < dust {
        write(row, DUST, fields.cloud * (0.6 + 1.2 * spread * spread), fields.dust_depth);
    } else if kind < dust + HYDROGEN {
        write(row, PINK, fields.star * (0.8 + spread), 2.0 * fields.glow);
    } else {
        let outward = smoothstep(0.5, 2.2, radius[row] + 1.2 * (spread - 0.5));
        write(row, mix(INNER, OUTER, outward), fields.star * (0.5 + random(row, 2u)), fields.glow);
    }
}
