// The maps of an environment: cubes whose faces are drawn one after the other, and a table. y is up in all directions here.
//   image:      radiance of an equirectangular image, which is turned around y
//   sky:        radiance of the air in the light of the sun: single scattering (Nishita et al. 1993, "Display of the Earth Taking
//               into Account Atmospheric Scattering") with the coefficients of Bruneton 2017 and Hillaire 2020 for Rayleigh, Mie
//               and ozone; below the horizon, ground that the sun and the sky light. Reference: tests/renderer/sky_reference.py
//   panorama:   the same as an equirectangular image, for path_trace/light.py
//   shrink:     a smaller level of the radiance
//   prefilter:  radiance weighed by the facets of a roughness, as seen along the normal (Karis 2013, "Real Shading in Unreal Engine
//               4"); samples read the level that fits how far apart they are (Colbert and Krivanek 2007, GPU Gems 3)
//   irradiance: mean radiance over a hemisphere, weighed by the cosine
//   table:      the other half of Karis' split sum: what facets reflect of white light, for each unit of f0 and in addition
//   backdrop:   what is behind everything
//% include "common/fullscreen.wgsl"
//% if PART == "backdrop"
//% include "common/view.wgsl"
//% include "common/color.wgsl"
//% include "common/lighting.wgsl"
//% endif

struct Face {
    number: u32,        // +x, -x, +y, -y, +z, -z
    size: f32,          // pixels of a side
    roughness: f32,
    turn: f32,          // of the image around y [rad]
    sun: vec3f,         // toward the sun
    irradiance: f32,    // of the sun, above the air
    ground: vec3f,      // the fraction of light that the ground reflects
    blur: f32,          // roughness with which the backdrop is seen
}

//% if PART != "backdrop"
const PI = 3.14159265;
//% endif

@group(0) @binding(0) var<uniform> face: Face;
//% if PART in ("image", "shrink")
@group(0) @binding(1) var source: texture_2d<f32>;
@group(0) @binding(2) var source_sampler: sampler;
//% elif PART in ("prefilter", "irradiance")
@group(0) @binding(1) var source: texture_cube<f32>;
@group(0) @binding(2) var source_sampler: sampler;
//% elif PART == "backdrop"
@group(0) @binding(1) var<uniform> view: View;
@group(0) @binding(2) var source: texture_2d<f32>;      // the image; nothing where IMAGE is not set
@group(0) @binding(3) var source_sampler: sampler;
//% endif

// The direction through a point of the face, from -1 to 1, right and down.
fn through(at: vec2f) -> vec3f {
    switch face.number {
        case 0u: { return normalize(vec3f(1.0, -at.y, -at.x)); }
        case 1u: { return normalize(vec3f(-1.0, -at.y, at.x)); }
        case 2u: { return normalize(vec3f(at.x, 1.0, at.y)); }
        case 3u: { return normalize(vec3f(at.x, -1.0, -at.y)); }
        case 4u: { return normalize(vec3f(at.x, -at.y, 1.0)); }
        default: { return normalize(vec3f(-at.x, -at.y, -1.0)); }
    }
}

// Where an equirectangular image has a direction: its middle is -z, to the right of it +x.
fn on_image(direction: vec3f) -> vec2f {
    let around = atan2(direction.x, -direction.z) + face.turn;
    return vec2f(fract(0.5 + around / (2.0 * PI)), acos(clamp(direction.y, -1.0, 1.0)) / PI);
}

fn direction_at(screen: Screen) -> vec3f {
    return through(2.0 * screen.uv - 1.0);
}

//% if PART == "image"
@fragment
fn image_fragment(screen: Screen) -> @location(0) vec4f {
    let found = textureSampleLevel(source, source_sampler, on_image(direction_at(screen)), 0.0).rgb;
    return vec4f(clamp(found, vec3f(0.0), vec3f(6e4)), 1.0);
}
//% endif

//% if PART == "shrink"
@fragment
fn shrink_fragment(screen: Screen) -> @location(0) vec4f {
    return textureSampleLevel(source, source_sampler, screen.uv, 0.0);
}
//% endif

//% if PART in ("sky", "panorama")
// Lengths in km, coefficients in 1/km.
const PLANET = 6360.0;
const AIR = 6460.0;
const RAYLEIGH = vec3f(5.802e-3, 13.558e-3, 33.1e-3);
const MIE = 3.996e-3;
const MIE_EXTINCTION = 4.44e-3;
const OZONE = vec3f(0.65e-3, 1.881e-3, 0.085e-3);
const ASYMMETRY = 0.8;
const STEPS = 24u;
const SUN_STEPS = 8u;
const EYE = 0.2;            // above the ground

// How far it is from a position to a sphere around the center, along a direction; below 0: it is missed.
fn to_sphere(position: vec3f, direction: vec3f, radius: f32) -> f32 {
    let along = dot(position, direction);
    let inside = radius * radius - dot(position, position) + along * along;
    return select(-along + sqrt(max(inside, 0.0)), -1.0, inside < 0.0);
}

// Of Rayleigh and Mie scattering, and of ozone, at a height.
fn densities(height: f32) -> vec3f {
    return vec3f(exp(-height / 8.0), exp(-height / 1.2), max(0.0, 1.0 - abs(height - 25.0) / 15.0));
}

fn extinction(amount: vec3f) -> vec3f {
    return RAYLEIGH * amount.x + MIE_EXTINCTION * amount.y + OZONE * amount.z;
}

// What of the sun's light arrives at a position.
fn from_sun(position: vec3f) -> vec3f {
    let along = dot(position, face.sun);
    let closest = sqrt(max(dot(position, position) - along * along, 0.0));
    if along < 0.0 && closest < PLANET { return vec3f(0.0); }
    let step = to_sphere(position, face.sun, AIR) / f32(SUN_STEPS);
    var amount = vec3f(0.0);
    for (var i = 0u; i < SUN_STEPS; i++) {
        amount += densities(length(position + face.sun * (f32(i) + 0.5) * step) - PLANET) * step;
    }
    return exp(-extinction(amount));
}

// Radiance of the air in a direction at or above the horizon, for each unit of the sun's irradiance.
fn scattered(direction: vec3f) -> vec3f {
    let eye = vec3f(0.0, PLANET + EYE, 0.0);
    let cosine = dot(direction, face.sun);
    let rayleigh = 3.0 / (16.0 * PI) * (1.0 + cosine * cosine);
    let g2 = ASYMMETRY * ASYMMETRY;
    let mie = 3.0 / (8.0 * PI) * (1.0 - g2) * (1.0 + cosine * cosine)
        / ((2.0 + g2) * pow(1.0 + g2 - 2.0 * ASYMMETRY * cosine, 1.5));
    let end = to_sphere(eye, direction, AIR);
    var amount = vec3f(0.0);
    var sum = vec3f(0.0);
    var before = 0.0;
    for (var i = 0u; i < STEPS; i++) {
        let part = f32(i + 1u) / f32(STEPS);
        let after = end * part * part;      // more of them where the air is dense
        let step = after - before;
        let position = eye + direction * 0.5 * (before + after);
        let here = densities(length(position) - PLANET);
        let through_ = exp(-extinction(amount + 0.5 * here * step));
        sum += through_ * from_sun(position) * (RAYLEIGH * rayleigh * here.x + MIE * mie * here.y) * step;
        amount += here * step;
        before = after;
    }
    return sum;
}

fn sky(direction: vec3f) -> vec3f {
    let level = normalize(vec3f(direction.x, max(direction.y, 0.0) + 1e-4, direction.z));
    let air = scattered(level);
    let lit = from_sun(vec3f(0.0, PLANET + EYE, 0.0)) * max(face.sun.y, 0.0) / PI + scattered(normalize(vec3f(-face.sun.x, 1.0, -face.sun.z)));
    let below = smoothstep(0.0, 0.02, -direction.y);
    return face.irradiance * mix(air, face.ground * lit, below);
}
//% endif

//% if PART == "sky"
@fragment
fn sky_fragment(screen: Screen) -> @location(0) vec4f {
    return vec4f(sky(direction_at(screen)), 1.0);
}
//% endif

//% if PART == "panorama"
@fragment
fn panorama_fragment(screen: Screen) -> @location(0) vec4f {
    let around = 2.0 * PI * (screen.uv.x - 0.5);
    let latitude = PI * screen.uv.y;
    return vec4f(sky(vec3f(sin(latitude) * sin(around), cos(latitude), -sin(latitude) * cos(around))), 1.0);
}
//% endif

//% if PART in ("prefilter", "irradiance", "table")
const SAMPLES = 64u;

// Point `i` of `count` that fill a square evenly (Hammersley).
fn spread(i: u32, count: u32) -> vec2f {
    return vec2f((f32(i) + 0.5) / f32(count), f32(reverseBits(i)) * 2.3283064e-10);
}

// A direction around z: of a facet of GGX whose width is `width`.
fn facet(at: vec2f, width: f32) -> vec3f {
    let cosine = sqrt((1.0 - at.x) / (1.0 + (width * width - 1.0) * at.x));
    let sine = sqrt(max(1.0 - cosine * cosine, 0.0));
    return vec3f(sine * cos(2.0 * PI * at.y), sine * sin(2.0 * PI * at.y), cosine);
}

fn around(normal: vec3f, local: vec3f) -> vec3f {
    let other = select(vec3f(0.0, 1.0, 0.0), vec3f(1.0, 0.0, 0.0), abs(normal.y) > 0.9);
    let right = normalize(cross(other, normal));
    return right * local.x + cross(normal, right) * local.y + normal * local.z;
}
//% endif

//% if PART in ("prefilter", "irradiance")
// The level of the source whose texels are as far apart as samples of a density, per unit of solid angle.
fn level_of(density: f32) -> f32 {
    let side = f32(textureDimensions(source).x);
    let texel = 4.0 * PI / (6.0 * side * side);
    return clamp(0.5 * log2(1.0 / (f32(SAMPLES) * density * texel)) + 1.0, 0.0, f32(textureNumLevels(source) - 1u));
}
//% endif

//% if PART == "prefilter"
@fragment
fn prefilter_fragment(screen: Screen) -> @location(0) vec4f {
    let normal = direction_at(screen);
    let width = face.roughness * face.roughness;
    var sum = vec4f(0.0);
    for (var i = 0u; i < SAMPLES; i++) {
        let half_vector = facet(spread(i, SAMPLES), width);
        let local = vec3f(2.0 * half_vector.z * half_vector.xy, 2.0 * half_vector.z * half_vector.z - 1.0);
        if local.z <= 0.0 { continue; }
        let bell = half_vector.z * half_vector.z * (width * width - 1.0) + 1.0;
        let density = width * width / (PI * bell * bell) * 0.25;
        let found = textureSampleLevel(source, source_sampler, around(normal, local), level_of(density)).rgb;
        sum += vec4f(found, 1.0) * local.z;
    }
    return vec4f(sum.rgb / max(sum.a, 1e-6), 1.0);
}
//% endif

//% if PART == "irradiance"
@fragment
fn irradiance_fragment(screen: Screen) -> @location(0) vec4f {
    let normal = direction_at(screen);
    var sum = vec3f(0.0);
    for (var i = 0u; i < SAMPLES; i++) {
        let at = spread(i, SAMPLES);
        let cosine = sqrt(1.0 - at.x);
        let local = vec3f(sqrt(at.x) * cos(2.0 * PI * at.y), sqrt(at.x) * sin(2.0 * PI * at.y), cosine);
        sum += textureSampleLevel(source, source_sampler, around(normal, local), level_of(cosine / PI)).rgb;
    }
    return vec4f(sum / f32(SAMPLES), 1.0);
}
//% endif

//% if PART == "table"
@fragment
fn table_fragment(screen: Screen) -> @location(0) vec4f {
    let at = (screen.uv * face.size - 0.5) / (face.size - 1.0);
    let facing = max(at.x, 1e-3);
    let width = max(at.y * at.y, 1e-3);
    let w2 = width * width;
    let to_eye = vec3f(sqrt(1.0 - facing * facing), 0.0, facing);
    var sum = vec2f(0.0);
    for (var i = 0u; i < 16u * SAMPLES; i++) {
        let half_vector = facet(spread(i, 16u * SAMPLES), width);
        let across = dot(to_eye, half_vector);
        let toward = 2.0 * across * half_vector.z - to_eye.z;
        if toward <= 0.0 || across <= 0.0 { continue; }
        let visibility = 0.5 / (toward * sqrt(facing * facing * (1.0 - w2) + w2)
            + facing * sqrt(toward * toward * (1.0 - w2) + w2));
        let weight = 4.0 * visibility * toward * across / half_vector.z;
        let fresnel = pow(1.0 - across, 5.0);
        sum += vec2f(1.0 - fresnel, fresnel) * weight;
    }
    return vec4f(sum / f32(16u * SAMPLES), 0.0, 1.0);
}
//% endif

//% if PART == "backdrop"
const DISC = 100.0;         // radiance of the sun's disc, for that of a white surface; really some 40,000

struct Backdrop {
    @location(0) color: vec4f,
    @location(1) display: vec4f,     // the same: common/output.wgsl
}

@fragment
fn backdrop_fragment(screen: Screen) -> Backdrop {
    let corner = across_at((2.0 * screen.uv - 1.0) * vec2f(1.0, -1.0));
    let sight = select(vec3f(corner, -1.0), vec3f(0.0, 0.0, -1.0), is_parallel());
    let direction = normalize(sight);
    var light = sky_toward(direction, face.blur);
//% if IMAGE
    let sharp = textureSampleLevel(source, source_sampler, on_image(to_environment(direction)), 0.0).rgb;
    light = mix(sharp * view.environment, light, smoothstep(0.0, 0.2, face.blur));
//% else
    let disc = smoothstep(0.99998, 0.999993, dot(direction, view.sun_direction)) * (1.0 - smoothstep(0.0, 0.2, face.blur));
    light += view.sun * DISC * disc * smoothstep(0.0, 0.01, to_environment(direction).y);
//% endif
    let color = vec4f(bounded(light), 1.0);
    return Backdrop(color, color);
}
//% endif
