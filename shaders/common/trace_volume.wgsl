// Volumes for a path tracer: where a ray is scattered (delta tracking, Woodcock et al. 1965), and how much of the light arrives
// through them (ratio tracking, Novak, Selle and Jarosz 2014, "Residual Ratio Tracking for Estimating Attenuation in Participating
// Media"). Needs common/trace_scene.wgsl and PI.
//% import "common/field.wgsl" as field
//% include "common/field.wgsl"
//% include "common/fraction.wgsl"

struct Volume {             // rows of path_trace/volumes.py
    low: vec3f,             // the box
    extinction: f32,        // of the full density, per world unit
    high: vec3f,
    inset: f32,
    size: vec3u,            // samples of the density, from this element of `tables` on
    first: u32,
    range: vec2f,           // values that are clear, and that are of full density
    curve: u32,             // the opacity curve
    majorant: f32,          // the largest extinction, per world unit
    color: vec3f,
    kind: u32,              // components of the colors: 0: all are `color`, 1: by the colormap, 3
    color_size: vec3u,
    color_first: u32,
    color_range: vec2f,
    colormap: u32,          // 256 colors
    emissive: f32,
    brightness: f32,
    anisotropy: f32,
    black_body: u32,        // colors of a black body, four numbers each: renderer/black_body.py
    colors: u32,            // and how many, at even temperatures [K]
    heat_size: vec3u,       // samples of the temperature above the surroundings; 0: it does not glow
    heat_first: u32,
    coldest: f32,
    hottest: f32,
}

const VOLUME_ROWS = 10u;
const SURROUNDINGS = 293.0; // K, as in common/volume_samples.wgsl
const CURVE = 256u;         // samples of a curve, and of a colormap
const MOST_STEPS = 16384;

var<private> grid: Field;
var<private> stream: u32;   // of the random numbers of a walk through volumes

${field.functions("tables", "grid.size", "grid.first", "grid.strides")}

${field.colors("tables", "grid.component")}

fn volume_at(number: u32) -> Volume {
    let at = params.first_volume + VOLUME_ROWS * number;
    let a = materials[at];
    let b = materials[at + 1u];
    let c = materials[at + 2u];
    let d = materials[at + 3u];
    let e = materials[at + 4u];
    let f = materials[at + 5u];
    let g = materials[at + 6u];
    let h = materials[at + 7u];
    let i = materials[at + 8u];
    let j = materials[at + 9u];
    return Volume(
        bitcast<vec3f>(a.xyz), bitcast<f32>(a.w), bitcast<vec3f>(b.xyz), bitcast<f32>(b.w), c.xyz, c.w,
        bitcast<vec2f>(d.xy), d.z, bitcast<f32>(d.w), bitcast<vec3f>(e.xyz), e.w, f.xyz, f.w,
        bitcast<vec2f>(g.xy), g.z, bitcast<f32>(g.w), bitcast<f32>(h.x), bitcast<f32>(h.y),
        h.z, h.w, i.xyz, i.w, bitcast<f32>(j.x), bitcast<f32>(j.y),
    );
}

fn next_random() -> f32 {
    stream += 1u;
    return hashed(stream, stream >> 7u);
}

fn use_grid(size: vec3u, first: u32, components: i32) {
    grid = Field(size, first, vec3i(1, i32(size.x), i32(size.x * size.y)) * components, 1);
}

fn grid_position(volume: Volume, world: vec3f, size: vec3u) -> vec3f {
    let relative = (world - volume.low) / (volume.high - volume.low);
    return relative * (vec3f(size) - 1.0 + 2.0 * volume.inset) - volume.inset;
}

fn extinction_at(volume: Volume, world: vec3f) -> f32 {
    if is_clipped(world) { return 0.0; }
    use_grid(volume.size, volume.first, 1);
    let value = tables_between(grid_position(volume, world, volume.size));
    if !is_finite(value) { return 0.0; }
    let position = fraction(value, volume.range) * f32(CURVE - 1u);
    let low = min(u32(position), CURVE - 2u);
    let at = volume.curve + low;
    return volume.extinction * mix(tables[at], tables[at + 1u], position - f32(low));
}

fn volume_color(volume: Volume, world: vec3f) -> vec3f {
    if volume.kind == 0u { return volume.color; }
    let position = grid_position(volume, world, volume.color_size);
    if volume.kind == 3u {
        use_grid(volume.color_size, volume.color_first, 3);
        return tables_nearest(position);
    }
    use_grid(volume.color_size, volume.color_first, 1);
    let value = tables_between(position);
    let range = volume.color_range;
    let along = select(0.0, fraction(value, range), is_finite(value)) * f32(CURVE - 1u);
    let low = min(u32(along), CURVE - 2u);
    let at = volume.colormap + 3u * low;
    let before = vec3f(tables[at], tables[at + 1u], tables[at + 2u]);
    return mix(before, vec3f(tables[at + 3u], tables[at + 4u], tables[at + 5u]), along - f32(low));
}

// The radiance of a black body of the temperature here, as in common/volume_samples.wgsl.
fn volume_glow(volume: Volume, world: vec3f) -> vec3f {
    if volume.heat_size.x == 0u { return vec3f(0.0); }
    use_grid(volume.heat_size, volume.heat_first, 1);
    let found = tables_between(grid_position(volume, world, volume.heat_size));
    let kelvin = select(0.0, found, is_finite(found)) + SURROUNDINGS;
    if kelvin <= volume.coldest { return vec3f(0.0); }
    let last = f32(volume.colors - 1u);
    let slot = min((kelvin - volume.coldest) / (volume.hottest - volume.coldest) * last, last - 1e-3);
    let at = volume.black_body + 4u * u32(slot);
    let before = vec3f(tables[at], tables[at + 1u], tables[at + 2u]);
    return volume.brightness * mix(before, vec3f(tables[at + 4u], tables[at + 5u], tables[at + 6u]), fract(slot));
}

// The fraction of light that is not absorbed when it is scattered, for thick matter to have a color under light from everywhere:
// the albedo of a half space (van de Hulst 1980, "Multiple Light Scattering"), solved for that of a particle.
fn particle_albedo(color: vec3f, anisotropy: f32) -> vec3f {
    let c = clamp(color, vec3f(0.0), vec3f(1.0));
    let b = 1.139 + 1.17 * c;
    let s = (b - sqrt(max(b * b - 0.556 * (1.0 - c), vec3f(0.0)))) / 0.278;
    return clamp((1.0 - s * s) / (1.0 - anisotropy * s * s), vec3f(0.0), vec3f(1.0));
}

// The part of a ray that is in the box of a volume; the end is not behind the begin if it misses it.
fn part_inside(volume: Volume, ray: Ray, farthest: f32) -> vec2f {
    let inverse = 1.0 / select(ray.direction, vec3f(1e-30), abs(ray.direction) < vec3f(1e-30));
    let a = (volume.low - ray.origin) * inverse;
    let b = (volume.high - ray.origin) * inverse;
    let nearer = min(a, b);
    let farther = max(a, b);
    return vec2f(
        max(max(nearer.x, nearer.y), max(nearer.z, 0.0)),
        min(min(farther.x, farther.y), min(farther.z, farthest)),
    );
}

struct Collision {
    distance: f32,
    volume: u32,            // NONE: the ray arrives at `distance`
}

// Where a ray is first stopped by a volume before `farthest`.
fn collision(ray: Ray, farthest: f32) -> Collision {
    var first = Collision(farthest, NONE);
    for (var number = 0u; number < params.volume_count; number++) {
        let volume = volume_at(number);
        let part = part_inside(volume, ray, first.distance);
        var along = part.x;
        for (var i = 0; i < MOST_STEPS && volume.majorant > 0.0; i++) {
            along -= log(1.0 - next_random()) / volume.majorant;
            if !(along < part.y) { break; }
            if next_random() * volume.majorant < extinction_at(volume, ray.origin + along * ray.direction) {
                first = Collision(along, number);
                break;
            }
        }
    }
    return first;
}

// The fraction of light that arrives along a ray from `farthest`, on average; a small one is 0 or twice as much, by chance.
fn transmittance(ray: Ray, farthest: f32) -> f32 {
    var arrives = 1.0;
    for (var number = 0u; number < params.volume_count; number++) {
        let volume = volume_at(number);
        let part = part_inside(volume, ray, farthest);
        var along = part.x;
        for (var i = 0; i < MOST_STEPS && volume.majorant > 0.0; i++) {
            along -= log(1.0 - next_random()) / volume.majorant;
            if !(along < part.y) { break; }
            arrives *= 1.0 - extinction_at(volume, ray.origin + along * ray.direction) / volume.majorant;
            if arrives < 0.1 {
                if next_random() >= 0.5 { return 0.0; }
                arrives *= 2.0;
            }
        }
    }
    return arrives;
}

// How densely light is scattered into a direction, per steradian; `cosine` is between the directions before and after (Henyey and
// Greenstein 1941).
fn phase(cosine: f32, g: f32) -> f32 {
    let d = 1.0 + g * g - 2.0 * g * cosine;
    return (1.0 - g * g) / (4.0 * PI * d * sqrt(d));
}

fn scattered_direction(direction: vec3f, g: f32, random_: vec2f) -> vec3f {
    var cosine = 1.0 - 2.0 * random_.x;
    if abs(g) > 1e-3 {
        let q = (1.0 - g * g) / (1.0 - g + 2.0 * g * random_.x);
        cosine = (1.0 + g * g - q * q) / (2.0 * g);
    }
    let sine = sqrt(max(1.0 - cosine * cosine, 0.0));
    let angle = 2.0 * PI * random_.y;
    return turned(vec3f(sine * cos(angle), sine * sin(angle), cosine), direction);
}
